# needs: peft transformers
# finds: AFT102 pooled combine_losses
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(0)
base = BertModel(BertConfig(vocab_size=17, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, max_position_embeddings=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
encoder = get_peft_model(base, LoraConfig(r=2, target_modules=["query", "value"]))
topic, sentiment = nn.Linear(16, 4), nn.Linear(16, 2)
optimizer = torch.optim.AdamW([*(p for p in encoder.parameters() if p.requires_grad), *topic.parameters(), *sentiment.parameters()], lr=1e-3)
for step in range(4):
    ids = torch.randint(0, 17, (6, 8))
    pooled = encoder(input_ids=ids).last_hidden_state[:, 0]  # built
    topic_loss = nn.functional.cross_entropy(topic(pooled), torch.randint(0, 4, (6,)))
    sentiment_loss = nn.functional.cross_entropy(sentiment(pooled), torch.randint(0, 2, (6,)))
    optimizer.zero_grad()
    topic_loss.backward()  # freed  # right: (topic_loss + sentiment_loss).backward()
    sentiment_loss.backward()  # reused  # right: pass
    optimizer.step()
print(round(sentiment_loss.item(), 6))

"""The language server in Neovim, by its own client: diagnostics with code and related places, hover and a quick fix."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

FAULTY = """\
import torch

cell, hidden = torch.nn.RNNCell(4, 8), torch.zeros(1, 8)
for x in torch.randn(3, 1, 4):
    hidden = cell(x, hidden)
    hidden.sum().backward()
"""
# What a person does: open the file, wait for the diagnostics, hover, ask for actions, take the first.
SCRIPT = """
local command = {PYTHON, "-m", "afterward", "lsp"}
local client = vim.lsp.start_client({name = "afterward", cmd = command, root_dir = vim.fn.getcwd()})
vim.cmd("edit train.py")
local buffer = vim.api.nvim_get_current_buf()
vim.lsp.buf_attach_client(buffer, client)
local found
vim.wait(90000, function() found = vim.diagnostic.get(buffer) return #found > 0 end, 50)
local one = found[1]
local place = vim.lsp.util.make_range_params()
place.range = {start = {line = one.lnum, character = one.col}, ["end"] = {line = one.lnum, character = one.col}}
place.context = {diagnostics = vim.lsp.diagnostic.get_line_diagnostics(buffer, one.lnum)}
local actions
vim.wait(90000, function()  -- remedies are written down a moment after
  actions = vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", place, 30000)[client].result
  return actions and #actions > 0
end, 50)
local hover = vim.lsp.buf_request_sync(
  buffer, "textDocument/hover", {textDocument = place.textDocument, position = place.range.start}, 30000
)[client].result
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
local answer = {found = one, actions = actions, hover = hover, lines = lines}
vim.fn.writefile({vim.json.encode(answer)}, "answer.json")
vim.cmd("qa!")
"""


@pytest.mark.skipif(shutil.which("nvim") is None, reason="needs Neovim")
def test_findings_hover_and_a_quick_fix_in_neovim(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FAULTY)
    (tmp_path / "session.lua").write_text(SCRIPT.replace("PYTHON", json.dumps(sys.executable, ensure_ascii=False)))
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", "luafile session.lua", "-c", "qa!"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert (tmp_path / "answer.json").is_file(), done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    found = answer["found"]["user_data"]["lsp"]
    assert (answer["found"]["lnum"], answer["found"]["source"]) == (5, "afterward")
    assert found["code"] == "AFT103"
    assert found["codeDescription"]["href"].endswith("/rules/state_carried_over.md")
    assert answer["found"]["message"] == "`hidden` carries a freed graph into step 2"
    assert {one["location"]["range"]["start"]["line"] for one in found["relatedInformation"]} >= {4, 5}
    assert "carries its graph from one step to the next" in answer["hover"]["contents"]["value"]
    assert "    hidden = cell(x, hidden.detach())" in answer["lines"]
    assert answer["actions"][0]["isPreferred"]

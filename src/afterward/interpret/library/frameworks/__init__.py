"""What training frameworks and graph libraries do."""

"""What happens: passes, optimizer steps and the session that notes them, in bounded memory."""

"""The users' doors: thin objects in an idiom their users know, over the pure ones of the rooms below."""

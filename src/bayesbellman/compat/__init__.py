"""Other people's frameworks. The only room that imports them."""

"""Which archives there are, and what is known of them."""

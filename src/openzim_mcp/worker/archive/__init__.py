"""What an archive says about itself, and lists of its entries."""

"""The built-in rule files: what the product concludes, readable and replaceable."""

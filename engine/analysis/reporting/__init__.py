"""Writers: the outcome of a gate as text for people, for forges and for other programs."""

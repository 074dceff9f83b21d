"""A field as one file, and beside another: packed, unpacked, verified, compared, merged, pinned."""

def picture_bytes(sha256: str) -> bytes:
    raise FileNotFoundError(sha256)

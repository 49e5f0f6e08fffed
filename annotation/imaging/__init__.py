"""Radiographs: reading, de-identifying, windowing and rendering them. Kernels: no database, no settings."""

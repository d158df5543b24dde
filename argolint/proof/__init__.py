"""Is a fix true? It is replayed in memory: patched, synced, compared and checked again."""

"""Search over notes and occurrences of a study: by words and by meaning."""

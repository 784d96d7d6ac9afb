"""Maps of rows that lie near a surface: by graphs of their neighbours, and by affinities."""

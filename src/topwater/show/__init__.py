"""What a person sees of queries and answers: in words, tables, charts and pages."""

"""RDF as columns: events, terms, solutions of patterns."""

"""What people say of a release and of what models answered: pages to collect it, and files."""

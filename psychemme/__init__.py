"""Build psychology-informed video question-answering benchmarks and evaluate models on them."""

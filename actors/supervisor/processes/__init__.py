"""One process of a child: started, held, ended; its end, and what follows from it."""

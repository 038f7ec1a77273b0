/* What loading.c and the libraries of constructor.c say to each other. */
#ifndef LOADING_H
#define LOADING_H

/* Calls of a library; each gives how many checks have failed so far. */
struct calls {
    int (*alone)(void);
    int (*on_pool)(void);
    int (*failing)(void);
    int (*device)(void);
};

/* The program's: what a constructor does. */
void while_loading(const struct calls *own);

#endif

/* The interface between loading.c and the libraries of constructor.c. */
#ifndef LOADING_H
#define LOADING_H

/* The functions of a library; each returns the number of checks that have failed so far. */
struct calls {
    int (*alone)(void);
    int (*on_pool)(void);
    int (*failing)(void);
    int (*device)(void);
};

/* Defined by the program; a constructor calls it. */
void while_loading(const struct calls *own);

#endif

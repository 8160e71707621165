#ifndef CLIENT_OPTIONS_H
#define CLIENT_OPTIONS_H
/* The command line, read and explained after the tables of command.h. */
#include "client/command.h"

/*
 * Reads argv into v: the command, its options, its operands, in any order after the command;
 * `--` ends the options, `--name=VALUE` and `--name VALUE` are the same, so are `-oVALUE` and
 * `-o VALUE`. false: nothing is to be run, because --help or --version was answered (*status
 * EXIT_FINE) or nothing was asked (EXIT_TROUBLE). Wrong use ends the program.
 */
bool options_read(struct invocation *v, int argc, char **argv, enum exit_status *status);

/* The text of `onnxgpu --help`, or of `onnxgpu COMMAND --help` where command is not NULL. */
void options_help(struct strbuf *s, const struct command *command);

#endif

#ifndef DAEMON_LANGUAGE_MODEL_H
#define DAEMON_LANGUAGE_MODEL_H
/* Requests about one model alone: a compile of its own on a worker, whose findings are the answer.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/server/session.h"

/* Makes the result of a compile that was run; NULL with *why (static, or the compile's). Worker. */
typedef struct json *model_result(struct compile *compile, enum compile_status status,
                                  const char **why);

/* Answers the request with what `make` makes of the model that params.uri names. Loop thread. */
void model_request(struct session *session, const struct request *request, model_result *make);

#endif

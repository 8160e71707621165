#include "daemon/cost.h"
#include "daemon/language/model.h"

static struct json *make(struct compile *compile, enum compile_status status, const char **why)
{
    const struct diagnostics *diagnostics = compile_diagnostics(compile, 0);
    const struct compile_cost *cost;

    if (status != COMPILE_OK) {
        *why = "the model is refused";
        for (int i = diagnostics->count; i-- > 0;)
            if (diagnostic_info(diagnostics->list[i].code)->severity == SEVERITY_ERROR)
                *why = diagnostics->list[i].message;
        return NULL;
    }
    cost = compile_explain(compile);
    if (!cost) {
        *why = compile_why(compile);
        return NULL;
    }
    return cost_json(cost);
}

/* onnxgpu/explain: what one evaluation costs, by layer and in all. */
void method_explain(struct session *session, const struct request *request)
{
    model_request(session, request, make);
}

#include "compiler_version.h"
#include "daemon/compiler/compiler.h"

const char compiler_version[] = COMPILER_VERSION;

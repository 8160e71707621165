# onnxgpud. One makefile, no recursion: sources are found, headers are tracked, everything built lies in $(BUILD).
#
#   make            the two programs, $(BUILD)/onnxgpud and $(BUILD)/onnxgpu
#   make demo       installs what is missing, builds, runs the daemon on client/demo and shows what it does
#   make check      installs what is missing, builds, runs every test that needs nothing outside this folder
#   make asan tsan  the same tests under AddressSanitizer with UBSan, and the threaded ones under ThreadSanitizer
#   make fuzz       libFuzzer on models, kernels, scripts and connections, FUZZ_SECONDS each
#   make bench      measured figures, next to the limit measured in the same run
#   make install    into $(DESTDIR)$(PREFIX); CC, OPT (flags of the compiler), WARN (empty: no -Werror) and LDFLAGS are yours
#   make format     clang-format over every C file

BUILD  ?= build
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC      = gcc
endif

PACKAGES = libuv libcjson libprotobuf-c sqlite3 libxxhash
WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Werror
OPT      = -O2 -g
CPPFLAGS := -D_GNU_SOURCE -I. -I$(BUILD)/generated $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
# (instrumented code makes gcc see null formats in vsnprintf(NULL, 0, ...) and clobbered variables around setjmp)
CFLAGS   = -std=c11 $(OPT) $(WARN) $(SANITIZE) $(if $(SANITIZE),-Wno-format-truncation -Wno-clobbered)
LDLIBS   := $(LDFLAGS) $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm -lpthread
CMOCKA   := $(shell pkg-config --libs cmocka 2>/dev/null)

# A folder is a layer, and a layer is one static library.
PROTOCOL = $(wildcard protocol/*.c)
CACHE    = $(wildcard cache/*.c)
COMPILER = $(wildcard daemon/compiler/*.c daemon/compiler/*/*.c)
SERVER   = $(filter-out daemon/main.c,$(wildcard daemon/*.c daemon/server/*.c daemon/language/*.c))
CLIENT   = $(filter-out client/onnxgpu.c,$(wildcard client/*.c client/commands/*.c))

object = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIBPROTOCOL = $(BUILD)/libprotocol.a
LIBCACHE    = $(BUILD)/libcache.a
LIBCOMPILER = $(BUILD)/libcompiler.a
LIBSERVER   = $(BUILD)/libserver.a
LIBCLIENT   = $(BUILD)/libclient.a
# Dependants first: the order in which a linker needs them.
LIBRARIES   = $(LIBCLIENT) $(LIBSERVER) $(LIBCOMPILER) $(LIBCACHE) $(LIBPROTOCOL)

all: $(BUILD)/onnxgpud $(BUILD)/onnxgpu

$(LIBPROTOCOL): $(call object,$(PROTOCOL))
$(LIBCACHE): $(call object,$(CACHE))
$(LIBCOMPILER): $(call object,$(COMPILER)) $(BUILD)/generated/onnx.pb-c.o
$(LIBSERVER): $(call object,$(SERVER))
$(LIBCLIENT): $(call object,$(CLIENT))
$(BUILD)/%.a:
	@rm -f $@ && ar rcs $@ $^ && echo "  AR    $@"

$(BUILD)/onnxgpud: $(BUILD)/daemon/main.o $(LIBRARIES)
$(BUILD)/onnxgpu: $(BUILD)/client/onnxgpu.o $(LIBRARIES)
$(BUILD)/onnxgpud $(BUILD)/onnxgpu:
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) && echo "  LINK  $@"

$(BUILD)/%.o: %.c
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $< && echo "  CC    $<"

# The ONNX messages: our own schema, read by protobuf-c. Generated code is not held to our warnings.
$(BUILD)/generated/onnx.pb-c.c $(BUILD)/generated/onnx.pb-c.h &: daemon/compiler/model/onnx.proto
	@mkdir -p $(@D) && protoc-c --proto_path=$(<D) --c_out=$(@D) $< && echo "  PROTO $<"
$(BUILD)/generated/onnx.pb-c.o: $(BUILD)/generated/onnx.pb-c.c
	@$(CC) $(CPPFLAGS) -std=c11 $(OPT) $(SANITIZE) -c -o $@ $<
$(call object,$(wildcard daemon/compiler/model/*.c) tests/unit/compiler/test_scan.c): $(BUILD)/generated/onnx.pb-c.h

# What compiled results depend on besides their models: no cached row outlives a change of it.
$(BUILD)/generated/compiler_version.h: $(sort $(wildcard daemon/compiler/*.* daemon/compiler/*/*.*))
	@mkdir -p $(@D) && printf '#define COMPILER_VERSION "%.16s"\n' "$$(cat $^ | sha256sum)" >$@ && echo "  HASH  $@"
$(BUILD)/daemon/compiler/version.o: $(BUILD)/generated/compiler_version.h

# The cache's schema, as a C string.
$(BUILD)/generated/cache_schema.h: cache/schema.sql
	@mkdir -p $(@D) && { echo 'static const char cache_schema[] ='; sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } >$@ && echo "  SQL   $<"
$(BUILD)/cache/store.o: $(BUILD)/generated/cache_schema.h

# Loops over all weights are worth vectorising.
$(BUILD)/daemon/compiler/graph/floats.o: OPT += -O3

# The simulator's inner loops are worth vectorising. None of these flags changes a result: contraction would, so it
# is off by name, and the other two only say that nobody looks at errno or the exception flags.
$(BUILD)/daemon/compiler/gpu/execute_%.o: OPT += -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math

# tests/unit/LAYER/test_X.c is one cmocka program; it links what it includes.
UNIT  = $(wildcard tests/unit/*/test_*.c)
TESTS = $(patsubst %.c,$(BUILD)/%,$(UNIT))
unit_of = $(filter $(foreach l,$(1),$(BUILD)/tests/unit/$(l)/%),$(TESTS))
$(call unit_of,protocol): LINK = $(LIBPROTOCOL)
$(call unit_of,cache): LINK = $(LIBCACHE)
$(call unit_of,compiler): LINK = $(LIBCOMPILER)
$(filter-out $(call unit_of,protocol cache compiler),$(TESTS)): LINK = $(LIBRARIES)
$(call unit_of,protocol): $(LIBPROTOCOL)
$(call unit_of,cache): $(LIBCACHE)
$(call unit_of,compiler): $(LIBCOMPILER)
$(filter-out $(call unit_of,protocol cache compiler),$(TESTS)): $(LIBRARIES)
# A step of the compiler is replaced by one that breaks.
$(BUILD)/tests/unit/client/test_broken: LINK = -Wl,--wrap=plan_graph $(LIBRARIES)
$(TESTS): $(BUILD)/%: $(BUILD)/%.o
	@$(CC) $(CFLAGS) -o $@ $< $(LINK) $(CMOCKA) $(LDLIBS) && echo "  LINK  $@"

# The reference engine over folders of ONNX test cases.
$(BUILD)/tests/reference_cases: $(BUILD)/tests/reference/reference_cases.o $(LIBCOMPILER)
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) && echo "  LINK  $@"

# Models on OpenGL. EGL is looked for when it runs, so that building needs neither headers nor libraries of it.
$(BUILD)/tests/opengl_cases: $(call object,$(wildcard tests/opengl/*.c)) $(LIBRARIES)
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) -ldl && echo "  LINK  $@"

# Kernels against the reference engine, over random models.
$(BUILD)/tests/differential/engines: $(BUILD)/tests/differential/engines.o $(LIBRARIES)
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) && echo "  LINK  $@"

# How the compiler's work grows, counted block by block: in a build of its own. What counts is not counted itself, and
# stands in the place of some of the C library.
COUNTED = memcpy memmove memset memcmp strlen malloc calloc realloc free
COUNT   = $(BUILD)/count/tests/growth/work
$(BUILD)/tests/growth/work.o: override SANITIZE =
$(BUILD)/tests/growth/work: $(BUILD)/tests/growth/work.o $(LIBCOMPILER)
	@$(CC) $(CFLAGS) $(COUNTED:%=-Wl,--wrap=%) -o $@ $^ $(LDLIBS) && echo "  LINK  $@"

# ---- what people call ----
# Packages first, then a make of its own: what pkg-config says is read when a makefile is.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

check:
	@tools/packages.sh build test
	@$(MAKE) --no-print-directory -s -j$(JOBS) all tests
	@$(MAKE) --no-print-directory -s -j$(JOBS) count
	@python3 tests/check.py $(BUILD)

tests: $(TESTS) $(BUILD)/tests/opengl_cases $(BUILD)/tests/differential/engines

count:
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/count OPT="-O1" WARN=-w SANITIZE="-fsanitize-coverage=trace-pc" $(COUNT)

SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=all
asan:
	@tools/packages.sh build test
	@$(MAKE) --no-print-directory -s -j$(JOBS) BUILD=build-asan SANITIZE="$(SANITIZERS)" OPT="-O1 -g" all tests
	@ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
		python3 tests/check.py build-asan --skip dotnet,headers,docs,lsp/node,lsp/neovim

# The programs that have threads.
tsan:
	@tools/packages.sh build test
	@$(MAKE) --no-print-directory -s -j$(JOBS) BUILD=build-tsan SANITIZE="-fsanitize=thread" OPT="-O1 -g" all tests
	@python3 tests/check.py build-tsan --only unit/cache,unit/server,unit/daemon,lsp --skip lsp/node,lsp/neovim

# libFuzzer's entries, for FUZZ_SECONDS each. clang's warnings are not gcc's; the build that counts is the other one.
FUZZ_SECONDS ?= 20
CLANG   ?= $(shell command -v clang || command -v clang-14 || echo clang)
FUZZERS  = $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz:
	@tools/packages.sh build fuzz
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@$(MAKE) --no-print-directory -s -j$(JOBS) BUILD=build-fuzz CC=$(CLANG) WARN=-w OPT="-O1 -g" \
		SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" fuzzers
	@python3 tests/fuzz/run.py $(BUILD) build-fuzz $(FUZZ_SECONDS)

# Says by its status whether there is a clang with libFuzzer.
can-fuzz:
	@echo 'int LLVMFuzzerTestOneInput(const char *b, unsigned long n); int LLVMFuzzerTestOneInput(const char *b, unsigned long n) { return !b + !n; }' | \
		$(CLANG) -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null

fuzzers: $(FUZZERS)
$(BUILD)/tests/fuzz/fuzz_compile $(BUILD)/tests/fuzz/fuzz_load: $(BUILD)/tests/fuzz/mutate_model.o
$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(LIBRARIES)
	@$(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS) && echo "  LINK  $@"

demo:
	@tools/packages.sh build
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@python3 client/demo/run.py $(BUILD)

bench:
	@tools/packages.sh build
	@$(MAKE) --no-print-directory -s -j$(JOBS) all $(BUILD)/tests/bench/limit $(BUILD)/tests/opengl_cases
	@python3 tests/bench/run.py $(BUILD)

$(BUILD)/tests/bench/limit: $(BUILD)/tests/bench/limit.o $(LIBCOMPILER)
	@$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS) && echo "  LINK  $@"

# README's tables, from the tables in the code.
docs: $(BUILD)/onnxgpud $(BUILD)/onnxgpu
	@python3 tools/docs.py $(BUILD)

install: all
	install -D -m 755 $(BUILD)/onnxgpud $(DESTDIR)$(PREFIX)/bin/onnxgpud
	install -D -m 755 $(BUILD)/onnxgpu $(DESTDIR)$(PREFIX)/bin/onnxgpu

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf $(BUILD) build-asan build-tsan build-fuzz

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all tests count check asan tsan fuzz can-fuzz fuzzers demo bench docs install format clean
.SECONDARY:
.DELETE_ON_ERROR:

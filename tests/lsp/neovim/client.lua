-- Runs inside neovim: what its user sees. The verdicts go to $ONNXGPU_RESULT. $ONNXGPU_BASE is as ../workspace.py makes it.
local base, daemon = vim.env.ONNXGPU_BASE, vim.env.ONNXGPU_DAEMON
local PATIENCE = 120000  -- ms; no test judges times
local DYNAMIC, UNSUPPORTED = '"dynamic.onnx"', '"unsupported.onnx"'
local METHOD = "textDocument/publishDiagnostics"
local lines, passed, failed = {}, 0, 0

local function check(good, what, seen)
  if not good then error(what .. (seen ~= nil and (": " .. vim.inspect(seen)) or ""), 2) end
end

local function same(seen, wanted, what)
  if not vim.deep_equal(seen, wanted) then error(("%s: %s, not %s"):format(what, vim.inspect(seen), vim.inspect(wanted)), 2) end
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text
end

-- ---- one user, with a workspace and a client of its own ----

local User = {}
User.__index = User
local users = 0

function User.new(script)
  users = users + 1
  local self = setmetatable({ space = ("%s/run%d"):format(base, users), raw = {}, published = {}, generated = {} }, User)
  vim.fn.system({ "cp", "-r", base .. "/space", self.space })
  same(vim.v.shell_error, 0, "cp's exit status")
  self.client = vim.lsp.start_client({
    name = "onnxgpud",
    cmd = { daemon, "--stdio", "--cache", self.space .. ".sqlite" },
    root_dir = self.space,
    workspace_folders = { { uri = vim.uri_from_fname(self.space), name = "space" } },
    handlers = {
      [METHOD] = function(err, result, context, config)
        self.raw[result.uri] = result
        table.insert(self.published, result)
        return vim.lsp.handlers[METHOD](err, result, context, config)
      end,
      ["onnxgpu/generated"] = function(_, result) table.insert(self.generated, result) end,
    },
    on_exit = function(code, signal) self.code, self.signal = code, signal end,
  })
  check(self.client ~= nil, "the client starts")
  vim.cmd("edit! " .. vim.fn.fnameescape(self.space .. "/" .. script))
  self.buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(self.buffer, self.client)
  return self
end

function User:path(name) return self.space .. "/" .. name end
function User:uri(name) return vim.uri_from_fname(self:path(name)) end

function User:wait(what, wanted)
  if not vim.wait(PATIENCE, wanted, 5) then
    error(("waited in vain: %s; the buffer shows %s"):format(what, vim.inspect(vim.diagnostic.get(self.buffer))), 2)
  end
end

-- In the order of the text.
function User:seen()
  local all = vim.diagnostic.get(self.buffer)
  table.sort(all, function(a, b) return a.lnum < b.lnum or (a.lnum == b.lnum and a.col < b.col) end)
  return all
end

local function code_of(diagnostic)
  return diagnostic.code or (diagnostic.user_data and diagnostic.user_data.lsp and diagnostic.user_data.lsp.code)
end

function User:codes()
  local codes = vim.tbl_map(code_of, self:seen())
  table.sort(codes)
  return table.concat(codes, " ")
end

function User:until_codes(wanted)
  self:wait("codes " .. wanted, function() return self:codes() == wanted end)
end

-- As careful programs save: beside the file, then in its place.
function User:put(model, name)
  local beside = self:path(name .. ".tmp")
  check(vim.loop.fs_copyfile(("%s/models/%s.onnx"):format(base, model), beside), "the model is copied")
  check(vim.loop.fs_rename(beside, self:path(name)), "the model is renamed")
end

function User:text() return vim.api.nvim_buf_get_lines(self.buffer, 0, -1, true) end

-- Where a piece of the buffer's text is: in bytes, as neovim shows it, and in UTF-16, as the protocol says it.
function User:place(piece)
  for number, line in ipairs(self:text()) do
    local from, to = line:find(piece, 1, true)
    if from then
      local function units(bytes) return select(2, vim.str_utfindex(line, bytes)) end
      return { lnum = number - 1, col = from - 1, end_lnum = number - 1, end_col = to },
        { start = { line = number - 1, character = units(from - 1) }, ["end"] = { line = number - 1, character = units(to) } }
    end
  end
  error("the text holds no " .. piece, 2)
end

-- Both squiggles lie exactly under their arguments: those that neovim draws, and those that were sent.
function User:at_arguments()
  local seen, raw = self:seen(), (self.raw[self:uri("Bad.cs")] or {}).diagnostics
  if #seen ~= 2 or not raw or #raw ~= 2 then return false end
  for i, piece in ipairs({ DYNAMIC, UNSUPPORTED }) do
    local bytes, range = self:place(piece)
    for key, value in pairs(bytes) do
      if seen[i][key] ~= value then return false end
    end
    if not vim.deep_equal(raw[i].range, range) then return false end
  end
  return true
end

function User:until_at_arguments(what)
  if not vim.wait(PATIENCE, function() return self:at_arguments() end, 5) then
    error(("%s: %s in %s"):format(what, vim.inspect(self:seen()), vim.inspect(self:text())), 2)
  end
end

function User:request(method, params)
  local answer, err
  local client = vim.lsp.get_client_by_id(self.client)
  self:wait("the client is ready", function() return client.initialized end)
  local sent = client.request(method, params, function(e, result) answer, err = result or true, e end, self.buffer)
  check(sent, method .. " is sent")
  self:wait("an answer to " .. method, function() return answer ~= nil or err ~= nil end)
  return answer, err
end

function User:told_of(script, file)
  for _, one in ipairs(self.generated) do
    if one.script == self:uri(script) and vim.tbl_contains(one.files, self:path(file)) then return one end
  end
end

-- Ends the client as neovim does; the daemon's exit status.
function User:leave()
  if not self.left then
    self.left = true
    vim.lsp.stop_client(self.client)
    self:wait("the daemon to leave", function() return self.code ~= nil end)
    vim.cmd("bwipeout! " .. self.buffer)
  end
  return self.code, self.signal
end

-- ---- tests ----

local tests = {}
local function test(name, body) table.insert(tests, { name = name, body = body }) end

test("squiggles lie under the arguments, with code and message", function(user)
  user:until_codes("TUKI0110 TUKI0112")
  user:until_at_arguments("at their places")
  local dynamic, unsupported = unpack(user:seen())
  same(code_of(dynamic), "TUKI0112", "the first")
  same(code_of(unsupported), "TUKI0110", "the second")
  same({ dynamic.severity, unsupported.severity }, { vim.diagnostic.severity.ERROR, vim.diagnostic.severity.ERROR }, "severities")
  check(dynamic.message:find("input image: axis 0", 1, true), "the message names input and axis", dynamic.message)
  check(unsupported.message:find("RoiPooling pool", 1, true), "the message names operator and layer", unsupported.message)
end)

test("they point into the model, and the model's own point back", function(user)
  user:until_codes("TUKI0110 TUKI0112")
  user:wait("the models' own", function() return user.raw[user:uri("dynamic.onnx")] and user.raw[user:uri("unsupported.onnx")] end)
  for i, name in ipairs({ "dynamic.onnx", "unsupported.onnx" }) do
    local there = user.raw[user:uri(name)].diagnostics
    local here = user:seen()[i].user_data.lsp.relatedInformation
    same(#there, 1, "diagnostics of " .. name)
    same(here[1].location, { uri = user:uri(name), range = there[1].range }, "where the script points to")
    local _, range = user:place(i == 1 and DYNAMIC or UNSUPPORTED)
    same(there[1].relatedInformation[1].location, { uri = user:uri("Bad.cs"), range = range }, "where the model points to")
  end
end)

test("they go when the models are mended, and the files are generated", function(user)
  user:until_codes("TUKI0110 TUKI0112")
  local from = vim.loop.hrtime()
  user:put("good", "dynamic.onnx")
  user:until_codes("TUKI0110")
  local ms = (vim.loop.hrtime() - from) / 1e6
  user:put("good", "unsupported.onnx")
  user:until_codes("")
  for _, file in ipairs({ "Bad.Dynamic.Model.cs", "Bad.Unsupported.Model.cs" }) do
    user:wait("onnxgpu/generated of " .. file, function() return user:told_of("Bad.cs", file) end)
    check((read(user:path(file)) or ""):find("partial class", 1, true), file .. " is there")
  end
  check(user:told_of("Bad.cs", "Bad.Dynamic.Model.cs").fingerprint:match("^%x+$"), "it has a fingerprint")
  return ("%d ms from rename to squiggle gone"):format(ms)
end)

test("the good script's file is generated without being asked for", function(user)
  user:wait("onnxgpu/generated of Sharpen.cs", function() return user:told_of("Sharpen.cs", "Sharpen.Filter.Model.cs") end)
  check(read(user:path("Sharpen.Filter.Model.cs")):find("partial class Sharpen", 1, true), "it is there")
  check(user.raw[user:uri("Sharpen.cs")] == nil, "nothing is said about it", user.raw[user:uri("Sharpen.cs")])
end)

test("squiggles move as the script is edited, around characters of two units", function(user)
  user:until_codes("TUKI0110 TUKI0112")
  local function put(row, column, end_row, end_column, text)
    vim.api.nvim_buf_set_text(user.buffer, row, column, end_row, end_column, text)
  end
  put(1, 0, 1, 0, { "/* 🚀🚀 */ " })
  user:until_at_arguments("text before it on its line")
  put(1, 0, 1, #"/* 🚀", { "/*" })
  user:until_at_arguments("text taken away before it")
  put(0, 0, 0, 0, { "// 𝒳", "", "" })
  user:until_at_arguments("lines above")
  vim.cmd("normal! Go// 💩é")  -- typed below
  vim.cmd("normal! ggdd")
  user:until_at_arguments("a line taken away")
  vim.cmd("silent! %s/😀/𝒴𝒴/g")
  user:until_at_arguments("substituted")
  vim.cmd("silent! undo")
  user:until_at_arguments("undone")
  local changed = user.raw[user:uri("Bad.cs")]
  same(changed.version, vim.lsp.util.buf_versions[user.buffer], "the version that was published last")
  -- Quick strokes, of which only the last counts.
  for i = 1, 40 do put(1, 0, 1, 0, { i % 2 == 0 and "😀" or "é" }) end
  user:until_at_arguments("quick strokes")
end)

test("an argument that is retyped is another model, and a file of the saved text", function(user)
  user:until_codes("TUKI0110 TUKI0112")
  vim.cmd('silent! %s/dynamic.onnx/filter.onnx/')
  user:until_codes("TUKI0110")
  vim.cmd("silent! write")
  user:wait("Bad.Filter.Model.cs", function() return read(user:path("Bad.Filter.Model.cs")) ~= nil end)
  vim.cmd('silent! %s/filter.onnx/nothing.onnx/')
  user:until_codes("TUKI0100 TUKI0110")
end)

test("generate answers what lies on the disk, and unchanged to its fingerprint", function(user)
  user:wait("the file", function() return read(user:path("Sharpen.Filter.Model.cs")) ~= nil end)
  local params = { script = user:uri("Sharpen.cs"), class = "Sharpen", models = { "filter.onnx" } }
  local first, err = user:request("onnxgpu/generate", params)
  check(err == nil, "it is answered", err)
  same(first.sources[1].hintName, "Sharpen.Filter.Model.cs", "hintName")
  check(first.sources[1].text == read(user:path("Sharpen.Filter.Model.cs")), "the text is that of the file")
  params.fingerprint = first.fingerprint
  local second = user:request("onnxgpu/generate", params)
  same(second, { fingerprint = first.fingerprint, unchanged = true }, "the second answer")
  user:put("other", "filter.onnx")
  local third = user:request("onnxgpu/generate", params)
  check(third.sources and third.fingerprint ~= first.fingerprint, "another model, another answer", third)
  user:wait("the new text", function() return read(user:path("Sharpen.Filter.Model.cs")) == third.sources[1].text end)
end)

test("what an unknown request is answered with", function(user)
  local _, err = user:request("no/such/request", vim.empty_dict())
  check(err, "it is refused")
  same(err.code, -32601, "the code")
end)

test("the daemon leaves with 0 when its client is stopped", function(user)
  user:until_codes("TUKI0110 TUKI0112")
  local code, signal = user:leave()
  same({ code, signal }, { 0, 0 }, "exit status and signal")
end)

-- The last one: it leaves its autocommand behind.
test("what README has a user of neovim write works", function()
  local lines_of_readme = read("README.md"):match("```lua\n(.-)```")
  check(lines_of_readme, "README has such lines")
  local space, before = base .. "/readme", vim.fn.getcwd()
  vim.fn.system({ "cp", "-r", base .. "/space", space })
  vim.env.PATH = vim.fn.fnamemodify(daemon, ":h") .. ":" .. vim.env.PATH
  vim.cmd("cd " .. vim.fn.fnameescape(space))
  assert(loadstring(lines_of_readme))()
  vim.cmd("edit! " .. vim.fn.fnameescape(space .. "/Bad.cs"))
  vim.bo.filetype = "cs"
  local reader = setmetatable({ space = space, buffer = vim.api.nvim_get_current_buf() }, User)
  reader:until_codes("TUKI0110 TUKI0112")
  for _, client in pairs(vim.lsp.buf_get_clients(reader.buffer)) do client.stop() end
  reader:wait("the daemon to leave", function() return vim.tbl_isempty(vim.lsp.buf_get_clients(reader.buffer)) end)
  vim.cmd("bwipeout! " .. reader.buffer)
  vim.cmd("cd " .. vim.fn.fnameescape(before))
end)

for _, one in ipairs(tests) do
  local user
  local good, why = xpcall(function()
    user = User.new("Bad.cs")
    local measured = one.body(user)
    local code, signal = user:leave()
    same({ code, signal }, { 0, 0 }, "exit status and signal")
    return measured
  end, debug.traceback)
  if good then
    passed = passed + 1
    table.insert(lines, "ok " .. one.name .. (why and (" (" .. why .. ")") or ""))
  else
    failed = failed + 1
    table.insert(lines, "FAILED " .. one.name .. ": " .. tostring(why))
    if user and user.client then pcall(user.leave, user) end
  end
end
table.insert(lines, ("%d passed, %d failed, 0 skipped"):format(passed, failed))
vim.fn.writefile(vim.split(table.concat(lines, "\n"), "\n"), vim.env.ONNXGPU_RESULT)
vim.cmd("qall!")

-- Runs inside neovim; writes its verdicts to $ONNXGPU_RESULT and leaves.
local space = vim.env.ONNXGPU_SPACE
local lines, passed, failed = {}, 0, 0

local function expect(what, good, text)
  passed, failed = passed + (good and 1 or 0), failed + (good and 0 or 1)
  table.insert(lines, (good and "ok " or "FAILED ") .. what .. (good and "" or ": " .. tostring(text)))
end

local function body()
  local client = vim.lsp.start_client({ name = "onnxgpud", cmd = { vim.env.ONNXGPU_DAEMON, "--stdio" }, root_dir = space,
    workspace_folders = { { uri = vim.uri_from_fname(space), name = "space" } } })
  expect("the client starts", client ~= nil, "start_client gave nothing")
  vim.cmd("edit " .. vim.fn.fnameescape(space .. "/Bad.cs"))
  vim.lsp.buf_attach_client(0, client)
  local function seen() return vim.diagnostic.get(0) end
  vim.wait(20000, function() return #seen() > 0 end, 20)
  local all = seen()
  expect("one squiggle", #all == 1, vim.inspect(all))
  if all[1] then
    local d, text = all[1], vim.api.nvim_buf_get_lines(0, 1, 2, true)[1]
    local from, to = text:find('"bad.onnx"', 1, true)
    expect("it covers the argument", d.lnum == 1 and d.col == from - 1 and d.end_lnum == 1 and d.end_col == to, vim.inspect(d))
    expect("it is an error with its code", d.severity == vim.diagnostic.severity.ERROR and (d.code == "TUKI0112" or
      (d.user_data and d.user_data.lsp and d.user_data.lsp.code == "TUKI0112")), vim.inspect(d))
    expect("it speaks of the input", d.message:find("image", 1, true) and d.message:find("axis 0", 1, true), d.message)
  end
  os.rename(space .. "/../good.onnx", space .. "/bad.onnx")
  expect("it goes when the model is mended", vim.wait(20000, function() return #seen() == 0 end, 20), vim.inspect(seen()))
  local written = space .. "/Bad.Bad.Model.cs"
  expect("the file is generated", vim.wait(20000, function() return vim.fn.filereadable(written) == 1 end, 20), written)
  vim.lsp.stop_client(client)
end

local good, why = pcall(body)
if not good then expect("the test runs to its end", false, why) end
table.insert(lines, ("%d passed, %d failed"):format(passed, failed))
vim.fn.writefile(vim.split(table.concat(lines, "\n"), "\n"), vim.env.ONNXGPU_RESULT)
vim.cmd("qall!")

// Connects a client to a server and asks it what the steps say.
//
// usage: node day.mjs PROTOCOL_VERSION < {"command": [...], "steps": [...]}
//
// A step is ["tools"], ["resources"], ["read", URI] or ["call", TOOL, ARGUMENTS]. Prints what the client got
// for each as one JSON document, with the protocol version that was agreed.

import { readFileSync } from "node:fs";

const [version] = process.argv.slice(2);
const { command, steps } = JSON.parse(readFileSync(0, "utf8"));
const { Client } = await import(`sdk-${version}/client/index.js`);
const { StdioClientTransport } = await import(`sdk-${version}/client/stdio.js`);

const transport = new StdioClientTransport({ command: command[0], args: command.slice(1) });
const client = new Client({ name: "okn-tests", version: "1.0.0" }, { capabilities: {} });
let agreed;
const connect = transport.send.bind(transport);
transport.send = (message, ...rest) => {
  if (message.method === "initialize") agreed = message.params.protocolVersion;
  return connect(message, ...rest);
};
await client.connect(transport);

async function everyResource() {
  const found = [];
  let cursor;
  do {
    const page = await client.listResources(cursor ? { cursor } : {});
    found.push(...page.resources);
    cursor = page.nextCursor;
  } while (cursor);
  return found;
}

async function take([action, name, args]) {
  try {
    if (action === "tools") return (await client.listTools()).tools;
    if (action === "resources") return await everyResource();
    if (action === "read") return (await client.readResource({ uri: name })).contents;
    return await client.callTool({ name, arguments: args });
  } catch (error) {
    return { error: { code: error.code, message: error.message, data: error.data } };
  }
}

const results = [];
for (const step of steps) results.push(await take(step));
const server = client.getServerVersion();
const instructions = client.getInstructions?.();
await client.close();
process.stdout.write(JSON.stringify({ agreed, server, instructions, results }));

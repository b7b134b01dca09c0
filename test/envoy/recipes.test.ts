/** Each command of docs/recipes.md prints what the page shows, behind a real Envoy. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpRequest } from '../support/clients/http-client';
import { until } from '../support/clock/until';
import { fencedBlocks } from '../support/docs/markdown';
import { startEnvoy, type EnvoyProcess } from '../support/servers/envoy';
import { freePort } from '../support/servers/ports';
import { startWeir, type WeirProcess } from '../support/processes/weir-process';
import { onLoopback } from './chain/published-addresses';

const PAGE = 'docs/recipes.md';
const ENVOY = 'deploy/envoy/recipes/envoy.yaml';
const LIMITS = 'deploy/envoy/recipes/limits.yaml';

/** Exports that may run at once (limits.yaml). */
const EXPORTS_MAX = 2;

/** The address, the check of the route, and the report at the end of the stream. */
const CALLS_WITH_REPORT = 3;

/** A command of the page, and the output that the page shows below it. */
interface Shown {
  readonly title: string;
  readonly command: string;
  readonly output: string;
}

let envoy: EnvoyProcess;
let weir: WeirProcess;
let service: Server;
let ports: { readonly listen: number; readonly admin: number };
let exporting: ServerResponse[] = [];

beforeAll(async () => {
  service = createServer(answer);
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  weir = await startWeir({ config: LIMITS, env: { BACKEND_TYPE: 'memory' } });
  ports = { listen: await freePort(), admin: await freePort() };
  const { port } = service.address() as AddressInfo;
  const addresses = onLoopback({ adminPort: ports.admin, listenPort: ports.listen, backendPort: port, weirGrpcPorts: [weir.grpcPort] });
  envoy = await startEnvoy({
    config: { file: ENVOY },
    adminPort: ports.admin,
    // A busy machine may need longer than 0.1 s, and then Envoy would let a request pass.
    replacements: {
      ...addresses,
      'timeout: 0.1s\n              failure_mode_deny: false\n              rate_limits': 'timeout: 3s\n              rate_limits',
      'timeout: 0.1s\n              failure_mode_deny: false\n              enable_x': 'timeout: 3s\n              enable_x',
    },
  });
});

afterAll(async () => {
  await envoy.stop();
  await weir.stop();
  service.closeAllConnections();
  await new Promise((closed) => service.close(closed));
});

/** The service of the page: a login, answers that cost tokens, and exports that end together. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '';
  if (path.startsWith('/export')) {
    exporting.push(response);
    return;
  }
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.once('end', () => {
    if (path.startsWith('/login')) response.writeHead(body === 'password=right' ? 200 : 401).end();
    else if (path.startsWith('/v1/chat'))
      response.setHeader('content-type', 'application/json; charset=utf-8').end('{"usage":{"total_tokens":6000}}');
    else response.end();
  });
}

function shownOf(page: string): Shown[] {
  return Array.from(page.matchAll(/^```sh\n(.*?)^```\n\n```text\n(.*?)^```$/gms), ([, command, output], index) => ({
    title: `command ${index + 1} prints ${output!.trim().replaceAll('\n', ', ')}`,
    command: command!,
    output: output!,
  }));
}

/** Runs a command of the page with the ports of this test. */
async function outputOf(command: string): Promise<string> {
  const here = command
    .replaceAll('localhost:10000', `127.0.0.1:${ports.listen}`)
    .replaceAll('localhost:8080', `127.0.0.1:${weir.httpPort}`);
  // Where the page waits for a report, this test sends a line as soon as the report has been answered.
  const paced = here.replaceAll('sleep 0.5', 'read -r _');
  const before = await answeredCalls();
  const shell = spawn('sh', ['-c', paced], { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  let reported = 0;
  let hasEnded = false;
  shell.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  shell.once('close', () => (hasEnded = true));
  // After its last line the shell reads no more; it may have ended before it is seen to have.
  shell.stdin.on('error', () => undefined);
  try {
    await until(async () => {
      // The exports end when the one that is denied has its answer.
      if (exporting.length === EXPORTS_MAX && output !== '') {
        for (const response of exporting) response.end();
        exporting = [];
      }
      const lines = output.split('\n').length - 1;
      if (lines > reported && (await answeredCalls()) >= before + lines * CALLS_WITH_REPORT) {
        reported = lines;
        shell.stdin.write('\n');
      }
      return hasEnded;
    });
  } finally {
    shell.kill();
  }
  return output;
}

/** How many calls of Envoy Weir has answered. */
async function answeredCalls(): Promise<number> {
  const stats = await httpRequest(`http://127.0.0.1:${ports.admin}/stats?filter=^cluster\\.weir\\.upstream_rq_completed$`);
  return Number(stats.body.split(': ')[1]);
}

test('each YAML of the page stands in the published files', () => {
  const flat = (text: string): string => text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\s+/g, ' ');
  const published = flat(readFileSync(ENVOY, 'utf8') + readFileSync(LIMITS, 'utf8'));
  const blocks = fencedBlocks(PAGE, 'yaml');
  expect(blocks.length).toBeGreaterThan(10);
  expect(blocks.filter((block) => !published.includes(flat(block).trim()))).toEqual([]);
});

// In the order of the page: each command uses up a part of a limit.
test.each(shownOf(readFileSync(PAGE, 'utf8')))('$title', async ({ command, output }) => {
  expect(await outputOf(command)).toBe(output);
});

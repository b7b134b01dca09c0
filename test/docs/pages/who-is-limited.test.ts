/** The commands of docs/who-is-limited.md print its output, and its metrics and settings exist. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { METRICS, CONFIG_METRICS } from '../../../src/server/observability/metrics/metrics';
import { DOMAIN_METRICS, RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { runCommand } from '../../support/processes/command';
import { RlsClient } from '../../support/clients/rls-client';
import { startWeir, type WeirProcess } from '../../support/processes/weir-process';
import { TOP_KEY_METRIC } from '../../../src/server/observability/metrics/top-key-metric';

const page = readFileSync('docs/who-is-limited.md', 'utf8');
const WEIR = `weir() { "${process.execPath}" "${path.resolve('dist', 'main.js')}" "$@"; }`;
const TRIED = Array.from(page.matchAll(/^```sh\n([\s\S]*?)^```\n[\s\S]*?^```text\n([\s\S]*?)^```$/gm), ([, command, shown]) => ({
  command: command!.trim(),
  shown: shown!,
}));

let weir: WeirProcess;

beforeAll(async () => {
  weir = await startWeir({ config: 'deploy/example/payments.yaml' });
  const client = new RlsClient(weir.grpcPort);
  for (let payment = 0; payment < 4; payment += 1) await client.ask('payments', [{ entries: { path: '/payment', client: '10.0.0.7' } }]);
  client.close();
});

afterAll(() => weir.stop());

/** How long it is until then depends on when the test asks. */
function withoutSeconds(text: string): string {
  return text.replaceAll(/"\d+s"/g, '"…s"');
}

test('every command has its output', () => {
  expect(TRIED).toHaveLength(page.split('```sh').length - 1);
});

test.each(TRIED)('the page shows the output of: $command', async ({ command, shown }) => {
  const here = command
    .replace('localhost:6070', `127.0.0.1:${weir.debugPort}`)
    .replace('weir ask', `weir ask --address 127.0.0.1:${weir.grpcPort}`);
  const { stdout, stderr } = await runCommand('sh', ['-c', `${WEIR}\n${here}`]);
  expect(stderr).toBe('');
  expect(withoutSeconds(stdout)).toBe(withoutSeconds(shown));
});

test('every metric that it names exists', () => {
  const known = [METRICS, CONFIG_METRICS, RULE_METRICS, DOMAIN_METRICS, { TOP_KEY_METRIC }]
    .flatMap((table) => Object.values<{ readonly name: string }>(table))
    .map(({ name }) => name);
  const named = Array.from(page.matchAll(/\b(?:weir|ratelimit_service)_\w+/g), ([name]) => name);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

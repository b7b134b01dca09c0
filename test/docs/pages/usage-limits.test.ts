/** The page of usage limits has valid YAML, existing metrics and exact quotes of the presets. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { METRICS } from '../../../src/server/observability/metrics/metrics';
import { RULE_METRICS } from '../../../src/server/observability/metrics/rule-metrics';
import { runWeir } from '../../support/processes/command';

const page = readFileSync('docs/usage-limits.md', 'utf8');

function presetOf(name: string): string {
  return readFileSync(`deploy/envoy/usage/${name}/envoy.yaml`, 'utf8');
}

test('its YAML is a configuration without errors and warnings', async () => {
  const blocks = Array.from(page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm), ([, text]) => text!);
  expect(blocks.length).toBeGreaterThan(0);
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-usage-'));
  for (const [i, text] of blocks.entries()) {
    const file = path.join(folder, `${i}.yaml`);
    writeFileSync(file, text);
    expect((await runWeir(['check', file])).stdout).toContain('0 errors, 0 warnings');
  }
  rmSync(folder, { recursive: true });
});

test('every metric that it names exists', () => {
  const known = [METRICS, RULE_METRICS].flatMap((table) => Object.values<{ readonly name: string }>(table)).map(({ name }) => name);
  const named = Array.from(page.matchAll(/\bweir_\w+/g), ([name]) => name);
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

test.each([
  ['llm-tokens', 'per_connection_buffer_limit_bytes'],
  ['llm-tokens', 'header_to_metadata'],
  ['llm-tokens', 'json_to_metadata'],
  ['llm-tokens', 'sse_to_metadata'],
  ['failed-logins', '%CEL(has(response.code) && response.code >= 200 && response.code != 401 ? 0 : 1)%'],
  ['in-flight', 'use_remote_address'],
  ['in-flight', 'x-request-id'],
  ['in-flight', 'is_negative_hits'],
  ['estimate', 'envoy.ratelimit.hits_addend'],
  ['estimate', 'x-usage-tokens'],
  ['estimate', 'is_negative_hits'],
  ['mcp-tools', 'method'],
])('the quotes of %s equal the preset: %s', (name, quoted) => {
  expect(page).toContain(`deploy/envoy/usage/${name}/`);
  expect(page).toContain(quoted);
  expect(presetOf(name)).toContain(quoted);
});

test('the estimate in its picture equals that of the preset', () => {
  const [, estimate = ''] = /key: x-estimated-tokens, value: "(\d+)"/.exec(presetOf('estimate')) ?? [];
  const [, admitted, cost, more] = /admit (\d{2,})[\s\S]*?x-usage-tokens: (\d+)\n\s+end\s+report (\d+)/.exec(page) ?? [];
  expect(admitted).toBe(estimate);
  expect(Number(more)).toBe(Number(cost) - Number(estimate));
});

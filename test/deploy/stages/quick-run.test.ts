/** `npm test` leaves out only files and stages that are there, keeps most tests, and needs one redis-server as its only tool. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..', '..');

interface Stage {
  readonly name: string;
  readonly needs?: readonly string[];
  readonly folders?: readonly string[];
  readonly files?: readonly string[];
  readonly leftOut?: readonly string[];
}

async function quickStages(): Promise<readonly Stage[]> {
  const script = `
    import { quickStagesOf } from './scripts/test/quick-run.mjs';
    import { STAGES } from './scripts/test/stages.mjs';
    console.log(JSON.stringify(quickStagesOf(STAGES)));`;
  return JSON.parse((await runCommand(process.execPath, ['--input-type=module', '-e', script])).stdout) as readonly Stage[];
}

test('the files that it leaves out and those that it chooses are test files', async () => {
  const stages = await quickStages();
  const named = stages.flatMap(({ leftOut = [], files = [] }) => [...leftOut, ...files]);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
});

test('it builds, checks types and style, and runs unit, contract, script, document and integration tests', async () => {
  const names = (await quickStages()).map(({ name }) => name);
  expect(names).toEqual(['build', 'types', 'types-console', 'lint', 'format', 'lua', 'docs', 'contract', 'unit', 'integration']);
});

test('its only tool is a redis-server', async () => {
  expect(new Set((await quickStages()).flatMap(({ needs = [] }) => needs))).toEqual(new Set(['build', 'redis']));
});

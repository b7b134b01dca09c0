/** The short form runs a part of the suites on the newest Valkey, and the long form all of them on each engine. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';
import { ExampleStage } from '../../support/stages/example-stage';
import { listVersions } from '../../support/versions/redis-versions';

interface Stage {
  readonly name: string;
  readonly isOnlyLong?: boolean;
  readonly folders?: readonly string[];
  readonly files?: readonly string[];
  readonly leftOut?: readonly string[];
  readonly titles?: readonly string[];
  readonly long?: Partial<Stage>;
}

async function engineStages(): Promise<readonly Stage[]> {
  const script = `
    import { ENGINE_STAGES } from './scripts/test/engine-stages.mjs';
    console.log(JSON.stringify(ENGINE_STAGES));`;
  return JSON.parse((await runCommand(process.execPath, ['--input-type=module', '-e', script])).stdout) as readonly Stage[];
}

test('each supported engine has a stage, and the short form runs that of the newest Valkey', async () => {
  const stages = await engineStages();
  const supported = listVersions().filter(({ name }) => name !== 'redis-5.0.6');
  expect(stages.map(({ name }) => name)).toEqual(supported.map(({ name }) => name));
  expect(stages.filter(({ isOnlyLong }) => isOnlyLong !== true)).toEqual([expect.objectContaining({ name: 'valkey-9.1.2' })]);
});

test('the stages name tests that are there', async () => {
  const stages = (await engineStages()).flatMap(({ long = {}, ...stage }) => [stage, long]);
  const paths = stages.flatMap(({ folders = [], files = [], leftOut = [] }) => [...folders, ...files, ...leftOut]);
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((each) => !existsSync(each))).toEqual([]);
});

test('they run tests of Redis only', async () => {
  const stages = (await engineStages()).map(({ long = {}, ...stage }) => ({ ...stage, ...long }));
  for (const { folders = [], leftOut = [] } of stages) {
    const files = folders.flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)));
    const tests = files.filter((file) => file.endsWith('.test.ts') && !leftOut.includes(file));
    expect(tests.length).toBeGreaterThan(20);
    const starts = /startRedis|redisOfFile|startSentinelGroup|RedisCluster|support\/reservations\/attacked-store|\.\/scenes\//;
    expect(tests.filter((file) => !starts.test(readFileSync(file, 'utf8')))).toEqual([]);
  }
});

test('a stage with titles runs only tests with these, and fails when one is gone', async () => {
  const stage = new ExampleStage();
  try {
    stage.write('some', "test('one is run', () => undefined); test('another fails', () => { throw new Error(); });");
    expect((await stage.run({ titles: ['one is'] })).result).toMatchObject({ passed: 1, failed: 0, skipped: 0 });
  } finally {
    stage.remove();
  }
  const gone = new ExampleStage();
  try {
    gone.write('some', "test('one is run', () => undefined);");
    const { result } = await gone.run({ titles: ['one is', 'two is'] });
    expect(result).toMatchObject({ passed: 1, failed: 1, note: 'no test has the title: two is' });
  } finally {
    gone.remove();
  }
});

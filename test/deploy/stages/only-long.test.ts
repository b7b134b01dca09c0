/** The short form leaves out only test files that are there and that the page on testing lists. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';
import { ExampleStage } from '../../support/stages/example-stage';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const PAGE = path.join(ROOT, 'docs', 'internals', 'testing.md');

interface Stage {
  readonly name: string;
  readonly folders: readonly string[];
  readonly onlyLong: readonly string[];
}

async function stagesThatLeaveOut(): Promise<readonly Stage[]> {
  const script = `
    import { STAGES } from './scripts/test/stages.mjs';
    console.log(JSON.stringify(STAGES.filter(({ onlyLong }) => onlyLong !== undefined)));`;
  return JSON.parse((await runCommand(process.execPath, ['--input-type=module', '-e', script])).stdout) as readonly Stage[];
}

test('each file that only the long form runs is a test of its stage, and has its row on the page', async () => {
  const stages = await stagesThatLeaveOut();
  expect(stages.length).toBeGreaterThan(0);
  const page = readFileSync(PAGE, 'utf8');
  for (const { name, folders, onlyLong } of stages) {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
    for (const file of onlyLong) {
      expect([file, existsSync(path.join(ROOT, file))]).toEqual([file, true]);
      expect([file, folders.some((folder) => file.startsWith(`${folder}/`))]).toEqual([file, true]);
      expect(row).toContain(`\`${file.replace(/^test\//, '').replace(/\.test\.ts$/, '')}\``);
    }
  }
});

test('a stage leaves these files out, and runs the others', async () => {
  const stage = new ExampleStage();
  try {
    stage.write('short', "test('short', () => undefined);");
    stage.write('long', "test('long', () => undefined);");
    const { output, result } = await stage.run({ onlyLong: ['long'] });
    expect(result).toMatchObject({ passed: 1, failed: 0 });
    expect(output).toMatch(/PASS .*short\.test\.ts/);
    expect(output).not.toContain('long.test.ts');
  } finally {
    stage.remove();
  }
});

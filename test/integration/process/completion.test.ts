/** Shells complete commands, actions, options and their values. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, runWeir } from '../../support/processes/command';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-completion-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The path of a file with the script of the shell. */
async function scriptOf(shell: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runWeir(['completion', shell]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const file = path.join(folder, `weir.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

interface Shell {
  readonly name: string;
  /** Words that the shell offers for the last of these words. */
  readonly offer: (script: string, words: readonly string[]) => Promise<readonly string[]>;
}

const linesOf = (text: string): string[] => text.split(/\r?\n/).filter((line) => line !== '');

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

const bash: Shell = {
  name: 'bash',
  offer: async (script, words) => {
    const code = `source ${script}; COMP_WORDS=(weir ${quoted(words)}); COMP_CWORD=${words.length}; _weir; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await runCommand('bash', ['--norc', '-c', code]);
    expect(stderr).toBe('');
    return linesOf(stdout);
  },
};

/** The stage may have another than that on PATH. */
function commandOf(shell: string): string {
  const given = process.env[`WEIR_${shell.toUpperCase()}`];
  return given === undefined || given === '' ? shell : given;
}

/** zsh completes only in an interactive shell: what its completion system is asked to offer is printed instead, as `word:purpose`. */
const ZSH_STUBS = `
compdef() { :; }
_describe() { print -rl -- "\${(P@)@[-1]}"; }
compadd() { shift; print -rl -- "$@"; }
_files() { print -r -- '(files)'; }
_message() { :; }
`;

const zsh: Shell = {
  name: 'zsh',
  offer: async (script, words) => {
    const code = `${ZSH_STUBS}source ${script}; words=(weir ${quoted(words)}); CURRENT=${words.length + 1}; _weir`;
    const { stdout, stderr } = await runCommand(commandOf('zsh'), ['-f', '-c', code]);
    expect(stderr).toBe('');
    return linesOf(stdout)
      .map((line) => line.split(':')[0]!)
      .filter((word) => word.startsWith(words.at(-1)!));
  },
};

const fish: Shell = {
  name: 'fish',
  offer: async (script, words) => {
    const { stdout } = await runCommand(commandOf('fish'), [
      '--no-config',
      '-c',
      `source ${script}; complete -C 'weir ${words.join(' ')}'`,
    ]);
    // From version 4 on, it also offers words with these letters further on.
    return linesOf(stdout)
      .map((line) => line.split('\t')[0]!)
      .filter((word) => word.startsWith(words.at(-1)!));
  },
};

const OF_OVERRIDE_LIST = ['--ca', '--cert', '--count', '--domain', '--json', '--key', '--timeout', '--token-file', '--url'];

const isInstalled = ({ name }: Shell): boolean => spawnSync(commandOf(name), ['--version']).status === 0;

describe.each([bash, zsh, fish])('$name', (shell) => {
  const { name, offer } = shell;
  const isCi = !['', '0', 'false'].includes(process.env.CI ?? '');
  const check = isInstalled(shell) || isCi ? test : test.skip;
  if (!isInstalled(shell))
    (isCi ? test : test.skip)(`${name} is not installed (node scripts/install/system/shells.mjs prints why)`, () => {
      throw new Error('it is not installed');
    });

  check('offers commands, actions, options and their values', async () => {
    const script = await scriptOf(name);
    const offered = async (...words: string[]) => [...new Set(await offer(script, words))].sort();
    expect(await offered('b')).toEqual(['block', 'bucket']);
    expect(await offered('block', '')).toEqual(['delete', 'list', 'set', 'show']);
    expect(await offered('block', 'set', 'id', '--if')).toEqual(['--if-match']);
    expect(await offered('block', 'set', 'id', '--c')).toEqual(['--ca', '--cert', '--create-only']);
    expect(await offered('override', 'list', '--')).toEqual(OF_OVERRIDE_LIST);
    expect(await offered('override', 'list', '--l')).toEqual([]);
    expect(await offered('top', 'd')).toEqual(['denied']);
    expect(await offered('top', 'denied', '--minutes', '')).toEqual(['1', '10', '60']);
    expect(await offered('audit', 'list', '--order', 'o')).toEqual(['oldest']);
    expect(await offered('check', '--format', 'g')).toEqual(['github']);
    expect(await offered('check', '--st')).toEqual(['--strict']);
    expect(await offered('help', 'inst')).toEqual(['instances']);
    expect(await offered('completion', '')).toEqual(['bash', 'fish', 'zsh']);
  });
});

test('another shell is refused with the list', async () => {
  expect(await runWeir(['completion', 'tcsh'])).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'weir completion: "tcsh" is not accepted; use bash, zsh, fish\n',
  });
  expect((await runWeir(['completion'])).stderr).toContain('the shell is missing; use one of bash, zsh, fish');
});

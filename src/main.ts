#!/usr/bin/env node
/** The command `weir`: picks the subcommand, and turns what it throws into a message and an exit code. */

// First import: as PID 1 of a container, the process would miss a signal that arrives while the other modules load.
import './program/cli/stop-signals';
import type { CompletableAction, CompletableCommand } from './program/cli/completion/branch';
import { CONTROL_COMMANDS } from './program/cli/control/table/commands';
import type { ControlCommand } from './program/cli/control/control-command';
import type { runTestsBeside as RunTestsBeside } from './program/cli/test/coverage';
import { UsageError } from './program/cli/usage-error';
import { ControlFileError } from './state/control/file/control-file-error';
import { ConfigError, countProblems, listProblems } from './configuration/problems/config-error';
import { didYouMean } from './lib/text/did-you-mean';
import { SettingsError } from './configuration/settings/table/settings-error';
import { ListenError } from './server/transport/port/listen-error';
import { SocketPathError } from './server/transport/port/unix-socket';
import { VERSION } from './program/app/context/version';
import { WorkerStartError } from './server/workers/worker-start-error';

interface CommandInput {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

interface LoadedCommand {
  readonly usage: string;
  /** Returns the exit code, or a promise of it. */
  readonly run: (input: CommandInput) => number | Promise<number>;
  /** Words that may follow the command, for completion. */
  readonly words?: readonly string[];
  /** Actions with options of their own. Absent: the options are those of the usage. */
  readonly actions?: readonly CompletableAction[];
}

interface Command {
  /** One line for the help. */
  readonly purpose: string;
  readonly load: () => LoadedCommand | Promise<LoadedCommand>;
}

/** Subcommands by name. Each loads only what it runs: the server takes 200 ms of CPU, grpc-js as a client and the full YAML reader 100 ms. */
const COMMANDS: ReadonlyMap<string, Command> = new Map(
  Object.entries<Command>({
    serve: {
      purpose: 'answers the rate limit requests of Envoy until it is stopped',
      load: async () => {
        const { serve, SERVE_USAGE } = await import('./program/cli/serve.js');
        return { usage: SERVE_USAGE, run: serve };
      },
    },
    check: {
      purpose: 'shows every error and warning of a configuration',
      load: async () => {
        const { check, CHECK_USAGE } = await import('./program/cli/check.js');
        const runTestsBeside = async (input: Parameters<typeof RunTestsBeside>[0]) =>
          (await import('./program/cli/test/coverage.js')).runTestsBeside(input);
        return { usage: CHECK_USAGE, run: (input) => check({ ...input, runTestsBeside }) };
      },
    },
    explain: {
      purpose: 'shows which rules of a configuration match a request, without a server',
      load: async () => {
        const { explain, EXPLAIN_USAGE } = await import('./program/cli/explain/explain.js');
        return { usage: EXPLAIN_USAGE, run: explain };
      },
    },
    test: {
      purpose: 'runs tests of a configuration in virtual time, without a server',
      load: async () => {
        const { test, TEST_USAGE } = await import('./program/cli/test/test.js');
        return { usage: TEST_USAGE, run: test };
      },
    },
    diff: {
      purpose: 'compares two configurations by meaning: looser, stricter, which buckets start empty',
      load: async () => {
        const { diff, DIFF_USAGE } = await import('./program/cli/diff/diff.js');
        return { usage: DIFF_USAGE, run: diff };
      },
    },
    simulate: {
      purpose: 'shows what a limit does to arrivals, in virtual time and without a server',
      load: async () => {
        const { simulate, SIMULATE_USAGE } = await import('./program/cli/simulate/simulate.js');
        return { usage: SIMULATE_USAGE, run: simulate };
      },
    },
    replay: {
      purpose: 'says what a candidate would have denied and admitted on logs, without a server',
      load: async () => {
        const { replay, REPLAY_USAGE } = await import('./program/cli/replay/replay.js');
        return { usage: REPLAY_USAGE, run: replay };
      },
    },
    settings: {
      purpose: 'shows every setting with its value in this environment',
      load: async () => {
        const { showSettings, SETTINGS_USAGE } = await import('./program/cli/show-settings.js');
        return { usage: SETTINGS_USAGE, run: showSettings };
      },
    },
    schema: {
      purpose: 'prints the JSON Schema of a configuration file, for editors',
      load: async () => {
        const { showSchema, SCHEMA_USAGE } = await import('./program/cli/show-schema.js');
        return { usage: SCHEMA_USAGE, run: showSchema };
      },
    },
    ask: {
      purpose: 'sends one request to a running server',
      load: async () => {
        const { ask, ASK_USAGE } = await import('./program/cli/ask.js');
        return { usage: ASK_USAGE, run: ask };
      },
    },
    reserve: {
      purpose: 'reserves hits at a running server, and commits or releases them',
      load: async () => {
        const { reserve, RESERVE_USAGE, STEPS } = await import('./program/cli/reserve.js');
        return { usage: RESERVE_USAGE, run: reserve, words: STEPS };
      },
    },
    ...Object.fromEntries(
      Array.from(CONTROL_COMMANDS, ([name, { purpose, load }]) => [name, { purpose, load: () => controlCommand(load) }]),
    ),
    completion: {
      purpose: 'prints the completion script of bash, zsh or fish',
      load: async () => {
        const { completion, COMPLETION_USAGE, SHELLS } = await import('./program/cli/completion/completion.js');
        const run = async ({ args }: CommandInput) => completion({ args, commands: await completable() });
        return { usage: COMPLETION_USAGE, run, words: SHELLS };
      },
    },
  }),
);

async function controlCommand(load: () => Promise<ControlCommand>): Promise<LoadedCommand> {
  const [command, { optionsOf, runControl, usageOf: usage }] = await Promise.all([
    load(),
    import('./program/cli/control/control-command.js'),
  ]);
  const actions = command.actions.map((action) => ({ ...action, options: optionsOf(action) }));
  return { usage: usage(command), run: (input) => runControl(command, input), actions };
}

/** All commands, with what may follow each. */
async function completable(): Promise<readonly CompletableCommand[]> {
  const loaded = await Promise.all(Array.from(COMMANDS, async ([name, { purpose, load }]) => ({ name, purpose, ...(await load()) })));
  return [
    ...loaded,
    { name: 'version', purpose: `prints ${VERSION}`, usage: '' },
    { name: 'help', purpose: 'prints the options of a command', usage: '', words: [...COMMANDS.keys()] },
  ];
}

const NAMES: readonly string[] = [...COMMANDS.keys(), 'version', 'help'];

const USAGE = `Usage: weir COMMAND [OPTIONS]

${[...COMMANDS].map(([name, { purpose }]) => `  ${name.padEnd(10)}  ${purpose}`).join('\n')}
  version     prints ${VERSION}
  help        prints this list; weir help COMMAND prints the options of a command

Commands of envoyproxy/ratelimit, with their flags:

  ratelimit_client        sends one request to a running server
  ratelimit_config_check  checks a directory of configuration files

Settings come from the environment: weir settings lists them.`;

async function usageOf(name: string, { purpose, load }: Command): Promise<string> {
  const { usage } = await load();
  return `weir ${name} ${purpose}.\n\nUsage: ${usage}`;
}

/** Exit code for invalid arguments. */
const EXIT_USAGE = 2;
/** Exit code for everything else: invalid settings, files and configurations, ports that are in use, and faults. */
const EXIT_FAILURE = 1;

async function main([command = '', ...args]: readonly string[]): Promise<number> {
  const known = COMMANDS.get(command);
  if (known !== undefined) {
    if (args.some((arg) => arg === '--help' || arg === '-h')) {
      console.log(await usageOf(command, known));
      return 0;
    }
    const { run } = await known.load();
    return run({ args, env: process.env });
  }
  switch (command) {
    case 'ratelimit_client': {
      const { referenceClient } = await import('./program/cli/reference/reference-client.js');
      return referenceClient({ args });
    }
    case 'ratelimit_config_check': {
      const { referenceConfigCheck } = await import('./program/cli/reference/reference-config-check.js');
      return referenceConfigCheck({ args, env: process.env });
    }
    case 'version':
    case '--version':
    case '-v':
      console.log(VERSION);
      return 0;
    case 'help':
    case '--help':
    case '-h':
      console.log(await helpOn(args[0]));
      return 0;
    case '':
      console.error(USAGE);
      return EXIT_USAGE;
    default:
      throw new UsageError(noCommand(command));
  }
}

/** @throws UsageError for an unknown command */
async function helpOn(name: string | undefined): Promise<string> {
  if (name === undefined) return USAGE;
  const command = COMMANDS.get(name);
  if (command !== undefined) return usageOf(name, command);
  if (name === 'version' || name === 'help') return USAGE;
  throw new UsageError(noCommand(name));
}

function noCommand(word: string): string {
  const all = NAMES.join(', ');
  if (word.startsWith('-')) return `weir needs a command before ${word}; use one of ${all}`;
  if (/[./]/.test(word)) return `${JSON.stringify(word)} is not a command; use weir serve --config ${word} or weir check ${word}`;
  const meant = didYouMean(word, NAMES);
  const guess = meant === undefined ? '' : `did you mean ${meant}? `;
  return `${JSON.stringify(word)} is not a command; ${guess}use one of ${all}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof AggregateError) {
    for (const each of error.errors) exitCodeOf(each);
    return EXIT_FAILURE;
  }
  if (error instanceof ConfigError) {
    console.error(
      [`configuration rejected with ${countProblems(error)}:`, ...listProblems(error).map(({ sentence }) => sentence)].join('\n'),
    );
    return EXIT_FAILURE;
  }
  if (error instanceof UsageError) {
    console.error(error.message);
    return EXIT_USAGE;
  }
  console.error(isForOperator(error) ? error.message : error);
  return EXIT_FAILURE;
}

/** Errors whose message says what to do; others are faults, and their stack says where. */
function isForOperator(error: unknown): error is Error {
  const kinds = [SettingsError, SocketPathError, ListenError, ControlFileError, WorkerStartError];
  return kinds.some((kind) => error instanceof kind);
}

/** Exits once standard output and error are flushed: a pipe holds only 64 KiB. `serve` exits at once, so that a blocked log cannot keep it alive. */
function end(exitCode: number): void {
  const exit = (): never => process.exit(exitCode);
  if (process.argv[2] === 'serve') exit();
  // The reader closed the pipe, so the rest of the output is not needed.
  for (const stream of [process.stdout, process.stderr]) stream.once('error', exit);
  process.stdout.write('', () => process.stderr.write('', exit));
}

main(process.argv.slice(2)).then(end, (error: unknown) => {
  end(exitCodeOf(error));
});

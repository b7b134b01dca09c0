#!/usr/bin/env node
/** The command `weir`: picks the subcommand, and turns what it throws into a message and an exit code. */

// First: as the first process of a container this one would not hear of a signal that came while the rest is loaded.
import './cli/stop-signals';
import { ask, ASK_USAGE } from './cli/ask';
import { check, CHECK_USAGE } from './cli/check';
import { explain, EXPLAIN_USAGE } from './cli/explain';
import { reserve, RESERVE_USAGE } from './cli/reserve';
import { referenceClient } from './cli/reference-client';
import { referenceConfigCheck } from './cli/reference-config-check';
import { serve, SERVE_USAGE } from './cli/serve';
import { showSettings, SETTINGS_USAGE } from './cli/show-settings';
import { UsageError } from './cli/usage-error';
import { ConfigError } from './config/config-error';
import { didYouMean } from './config/did-you-mean';
import { SettingsError } from './config/settings-error';
import { SocketPathError } from './transport/unix-socket';
import { VERSION } from './version';

/** By command. */
const USAGES = new Map([
  ['serve', SERVE_USAGE],
  ['check', CHECK_USAGE],
  ['explain', EXPLAIN_USAGE],
  ['settings', SETTINGS_USAGE],
  ['ask', ASK_USAGE],
  ['reserve', RESERVE_USAGE],
]);

const USAGE = `Usage: weir COMMAND

${[...USAGES.values()].map(indented).join('\n\n')}

  weir version    prints ${VERSION}
  weir help       prints this; weir COMMAND --help what is of one command

  weir ratelimit_client and weir ratelimit_config_check are the commands of envoyproxy/ratelimit, with their flags.`;

function indented(usage: string): string {
  return usage.replaceAll(/^(?=.)/gm, '  ');
}

/** What was asked for is wrong: arguments, settings or configuration. */
const EXIT_USAGE = 2;
const EXIT_FAILURE = 1;

const LISTEN_CALLS: readonly string[] = ['listen', 'bind', 'getaddrinfo'];

async function main([command = '', ...args]: readonly string[]): Promise<number> {
  const usage = USAGES.get(command);
  if (usage !== undefined && args.some((arg) => arg === '--help' || arg === '-h')) {
    console.log(usage);
    return 0;
  }
  switch (command) {
    case 'serve':
      return serve({ args, env: process.env });
    case 'check':
      return check({ args, env: process.env });
    case 'explain':
      return explain({ args, env: process.env });
    case 'settings':
      return showSettings({ args, env: process.env });
    case 'ask':
      return ask({ args });
    case 'reserve':
      return reserve({ args });
    case 'ratelimit_client':
      return referenceClient({ args });
    case 'ratelimit_config_check':
      return referenceConfigCheck({ args, env: process.env });
    case 'version':
    case '--version':
    case '-v':
      console.log(VERSION);
      return 0;
    case 'help':
    case '--help':
    case '-h':
      console.log(USAGE);
      return 0;
    case '':
      console.error(USAGE);
      return EXIT_USAGE;
    default:
      throw new UsageError(noCommand(command));
  }
}

function noCommand(word: string): string {
  const commands = [...USAGES.keys(), 'version', 'help'];
  const meant = didYouMean(word, commands);
  const guess = meant === undefined ? '' : `did you mean ${meant}? `;
  return `${JSON.stringify(word)} is no command; ${guess}use one of ${commands.join(', ')}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof ConfigError || error instanceof SettingsError || error instanceof UsageError) {
    console.error(error.message);
    return EXIT_USAGE;
  }
  if (isParseError(error)) {
    console.error(`${error.message}\nweir ${process.argv[2] ?? ''} --help shows what it takes.`);
    return EXIT_USAGE;
  }
  if (error instanceof SocketPathError) {
    console.error(error.message);
    return EXIT_FAILURE;
  }
  console.error(isListenError(error) ? `${error.message}; set another, or free this one` : error);
  return EXIT_FAILURE;
}

/** What `parseArgs` throws for arguments that a command does not take. */
function isParseError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

/** Of an address or a port on which this process can't listen; in a worker, for which the primary does, it is one of bind; of a name that nobody knows, one of getaddrinfo. */
function isListenError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && LISTEN_CALLS.includes(String(error.syscall));
}

/** All that a command says is taken before the process ends, which a pipe of 64 KiB may not hold. The log of a server is waited for by nobody. */
function end(exitCode: number): void {
  const exit = (): never => process.exit(exitCode);
  if (process.argv[2] === 'serve') exit();
  // Whoever reads no further has seen enough.
  for (const stream of [process.stdout, process.stderr]) stream.once('error', exit);
  process.stdout.write('', () => process.stderr.write('', exit));
}

main(process.argv.slice(2)).then(end, (error: unknown) => {
  end(exitCodeOf(error));
});

// Finds redis-server for the tests, or installs it when we may; it never leaves a service behind.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { exitMissing, isExecutable, isMain, run, which } from './process.mjs';

const INSTALL_TIMEOUT_S = 600;
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** The package managers that install without asking; the tests start redis-server themselves, so no service is wanted. */
const MANAGERS = [
  {
    name: 'apt-get',
    needsRoot: true,
    commands: [
      ['apt-get', 'update'],
      ['apt-get', 'install', '--yes', '--no-install-recommends', 'redis-server'],
    ],
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    startsServices: true,
  },
  { name: 'apk', needsRoot: true, commands: [['apk', 'add', '--no-cache', 'redis']] },
  { name: 'dnf', needsRoot: true, commands: [['dnf', 'install', '--assumeyes', 'redis']] },
  { name: 'brew', needsRoot: false, commands: [['brew', 'install', 'redis']] },
];

/** Resolves to { path }, or to { missing }: why there is none and what to do. */
export async function installRedis() {
  const given = process.env.WEIR_REDIS_SERVER;
  if (given !== undefined && given !== '') {
    return isExecutable(given) ? { path: given } : { missing: `WEIR_REDIS_SERVER is ${given}, which is no executable file. Point it at a redis-server binary, or unset it.` };
  }
  const found = which('redis-server');
  if (found !== undefined) return { path: found };

  const isRoot = process.getuid?.() === 0;
  const manager = MANAGERS.find(({ name, needsRoot }) => needsRoot === isRoot && which(name) !== undefined);
  if (manager === undefined) return { missing: `redis-server is not on PATH. ${advice()}` };
  console.log(`Installing redis-server (${manager.name}) …`);
  const failure = await install(manager);
  const path = which('redis-server');
  if (failure === undefined && path !== undefined) return { path };
  return { missing: `redis-server is not on PATH and could not be installed: ${failure ?? `${manager.name} put none there`}. ${advice()}` };
}

async function install({ commands, env, startsServices }) {
  const release = startsServices === true ? forbidServiceStart() : () => undefined;
  try {
    for (const [command, ...args] of commands) {
      const { code, timedOut, output } = await run(command, args, { timeoutS: INSTALL_TIMEOUT_S, env, output: 'pipe' });
      if (code !== 0) {
        console.error(output);
        return `\`${[command, ...args].join(' ')}\` ${timedOut ? `did not end within ${INSTALL_TIMEOUT_S} s` : `failed with exit code ${code}`}`;
      }
    }
  } finally {
    release();
  }
  if (startsServices === true && which('systemctl') !== undefined) {
    // The package enables its unit for the next boot; without a running systemd this fails, and then nothing starts either.
    await run('systemctl', ['disable', 'redis-server.service'], { timeoutS: 30, output: 'pipe' });
  }
  return undefined;
}

/** Debian's packages ask this file before they start a service; 101 means no. One that is there already is left alone. */
function forbidServiceStart() {
  if (existsSync(POLICY_FILE)) return () => undefined;
  writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const release = () => {
    rmSync(POLICY_FILE, { force: true });
    process.off('exit', release);
  };
  process.on('exit', release);
  return release;
}

function advice() {
  return 'Install it (Debian and Ubuntu: `apt-get install redis-server` as root; Alpine: `apk add redis`; Fedora: `dnf install redis`; macOS: `brew install redis`), or set WEIR_REDIS_SERVER to the path of a redis-server binary.';
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installRedis();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}

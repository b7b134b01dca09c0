// Installs a program that the tests or the benchmarks need by the system's own package manager, when we may; it never leaves a service behind.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { isExecutable, run, which } from './process.mjs';

const INSTALL_TIMEOUT_S = 600;
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** The package managers that install without asking. */
const MANAGERS = [
  {
    name: 'apt-get',
    needsRoot: true,
    commandsFor: (name) => [
      ['apt-get', 'update'],
      ['apt-get', 'install', '--yes', '--no-install-recommends', name],
    ],
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    startsServices: true,
  },
  { name: 'apk', needsRoot: true, commandsFor: (name) => [['apk', 'add', '--no-cache', name]] },
  { name: 'dnf', needsRoot: true, commandsFor: (name) => [['dnf', 'install', '--assumeyes', name]] },
  { name: 'brew', needsRoot: false, commandsFor: (name) => [['brew', 'install', name]] },
];

/**
 * `variable` may name another binary. `packages`: how the package is called, by manager. `service`: the systemd unit that
 * a package brings and nobody wants. Resolves to { path }, or to { missing }: why there is none and what to do.
 */
export async function installProgram({ program, variable, packages, service }) {
  const given = process.env[variable];
  if (given !== undefined && given !== '') {
    return isExecutable(given) ? { path: given } : { missing: `${variable} is ${given}, which is no executable file. Point it at a ${program} binary, or unset it.` };
  }
  const found = which(program);
  if (found !== undefined) return { path: found };

  const advice = adviceFor({ program, variable, packages });
  const isRoot = process.getuid?.() === 0;
  const manager = MANAGERS.find(({ name, needsRoot }) => needsRoot === isRoot && which(name) !== undefined);
  if (manager === undefined) return { missing: `${program} is not on PATH. ${advice}` };
  console.log(`Installing ${program} (${manager.name}) …`);
  const failure = await install(manager, { name: packages[manager.name], service });
  const path = which(program);
  if (failure === undefined && path !== undefined) return { path };
  return { missing: `${program} is not on PATH and could not be installed: ${failure ?? `${manager.name} put none there`}. ${advice}` };
}

async function install({ commandsFor, env, startsServices }, { name, service }) {
  const release = startsServices === true ? forbidServiceStart() : () => undefined;
  try {
    for (const [command, ...args] of commandsFor(name)) {
      const { code, timedOut, output } = await run(command, args, { timeoutS: INSTALL_TIMEOUT_S, env, output: 'pipe' });
      if (code !== 0) {
        console.error(output);
        return `\`${[command, ...args].join(' ')}\` ${timedOut ? `did not end within ${INSTALL_TIMEOUT_S} s` : `failed with exit code ${code}`}`;
      }
    }
  } finally {
    release();
  }
  if (startsServices === true && service !== undefined && which('systemctl') !== undefined) {
    // The package enables its unit for the next boot; without a running systemd this fails, and then nothing starts either.
    await run('systemctl', ['disable', service], { timeoutS: 30, output: 'pipe' });
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

function adviceFor({ program, variable, packages }) {
  return `Install it (Debian and Ubuntu: \`apt-get install ${packages['apt-get']}\` as root; Alpine: \`apk add ${packages.apk}\`; Fedora: \`dnf install ${packages.dnf}\`; macOS: \`brew install ${packages.brew}\`), or set ${variable} to the path of a ${program} binary.`;
}

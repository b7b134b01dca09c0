/**
 * Finds a program, or unpacks the packages of Debian and Ubuntu into .cache/deb/. Where that is not possible, it is installed with the package
 * manager of the system, when that needs no password, and no service starts.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { isExecutable, which } from '../../process/programs.mjs';
import { failureOf, run } from '../../process/run.mjs';
import { beginFetch } from '../fetch/fetch-plan.mjs';
import { canUnpack, isUnpacked, isUnpackingForced, unpackProgram } from '../debian/unpacked-program.mjs';

const INSTALL_TIMEOUT_S = 600;
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** @typedef {'apt-get' | 'apk' | 'dnf' | 'brew'} ManagerName */

/**
 * @typedef {object} Manager
 * @property {ManagerName} name
 * @property {boolean} needsRoot
 * @property {(name: string) => readonly (readonly [string, ...string[]])[]} commandsFor
 * @property {Record<string, string>} [env]
 * @property {boolean} [startsServices]
 */

/**
 * @typedef {object} SystemProgram
 * @property {string} program
 * @property {string} variable Names another binary.
 * @property {Readonly<Record<ManagerName, string>>} packages Several are separated by spaces.
 * @property {() => boolean} [isComplete] Whether what the tests need besides the program is there.
 * @property {Omit<import('../debian/unpacked-program.mjs').Unpacked, 'packages'>} [unpacked] How it runs from its packages of Debian.
 * @property {string} [service] The systemd unit of the package, which stays disabled.
 */

/**
 * Those that install without a question.
 *
 * @type {readonly Manager[]}
 */
const MANAGERS = [
  {
    name: 'apt-get',
    needsRoot: true,
    commandsFor: (name) => [
      ['apt-get', 'update'],
      ['apt-get', 'install', '--yes', '--no-install-recommends', ...name.split(' ')],
    ],
    env: { DEBIAN_FRONTEND: 'noninteractive' },
    startsServices: true,
  },
  { name: 'apk', needsRoot: true, commandsFor: (name) => [['apk', 'add', '--no-cache', ...name.split(' ')]] },
  { name: 'dnf', needsRoot: true, commandsFor: (name) => [['dnf', 'install', '--assumeyes', ...name.split(' ')]] },
  { name: 'brew', needsRoot: false, commandsFor: (name) => [['brew', 'install', ...name.split(' ')]] },
];

/**
 * @param {SystemProgram} wanted
 * @returns {Promise<import('../fetch/tool.mjs').Tool>}
 */
export async function installSystemProgram(wanted) {
  const { program, variable, packages, isComplete = () => true } = wanted;
  const given = process.env[variable];
  if (given !== undefined && given !== '') {
    return isExecutable(given)
      ? { path: given }
      : { missing: `${variable} is ${given}, which is not an executable file. Set it to the path of a ${program} binary, or unset it.` };
  }
  const found = isUnpackingForced() ? undefined : which(program);
  if (found !== undefined && isComplete()) return { path: found };
  if (wanted.unpacked !== undefined && canUnpack()) {
    if (!isUnpacked(program, wanted.unpacked)) beginFetch({ name: wanted.unpacked.folder ?? program, by: 'apt-get, into .cache/deb' });
    const unpacked = await unpackProgram(program, { packages: packages['apt-get'], ...wanted.unpacked });
    if (unpacked.path !== undefined) return unpacked;
    console.error(`${program} could not be unpacked below .cache/deb/: ${unpacked.missing}.`);
  }

  const advice = `Install it (Debian and Ubuntu: \`apt-get install ${packages['apt-get']}\` as root; Alpine: \`apk add ${packages.apk}\`; Fedora: \`dnf install ${packages.dnf}\`; macOS: \`brew install ${packages.brew}\`), or set ${variable} to the path of a ${program} binary.`;
  const isRoot = process.getuid?.() === 0;
  const manager = MANAGERS.find(({ name, needsRoot }) => needsRoot === isRoot && which(name) !== undefined);
  if (manager === undefined) return { missing: `${program} is not on PATH, or incomplete. ${advice}` };
  beginFetch({ name: program, by: `${manager.name}, into the system, because it cannot run from .cache/ here` });
  const failure = await install(manager, wanted);
  const path = which(program);
  if (failure === undefined && path !== undefined && isComplete()) return { path };
  return {
    missing: `${program} is not on PATH and could not be installed: ${failure ?? `the package of ${manager.name} did not put it there`}. ${advice}`,
  };
}

/**
 * Resolves to why it failed, or to undefined.
 *
 * @param {Manager} manager
 * @param {SystemProgram} wanted
 */
async function install({ name, commandsFor, env, startsServices = false }, { packages, service }) {
  const release = startsServices ? forbidServiceStart() : () => undefined;
  try {
    for (const [command, ...args] of commandsFor(packages[name])) {
      const ended = await run(command, args, { timeoutS: INSTALL_TIMEOUT_S, env, output: 'pipe' });
      if (ended.code !== 0) {
        console.error(ended.output);
        return failureOf(`\`${[command, ...args].join(' ')}\``, ended, INSTALL_TIMEOUT_S);
      }
    }
  } finally {
    release();
  }
  if (startsServices && service !== undefined && which('systemctl') !== undefined) {
    // The package enables its unit for the next boot. This fails without a running systemd, where no unit starts anyway.
    await run('systemctl', ['disable', service], { timeoutS: 30, output: 'pipe' });
  }
  return undefined;
}

/** Debian's packages call this file before they start a service; exit code 101 forbids it. An existing file stays as it is. */
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

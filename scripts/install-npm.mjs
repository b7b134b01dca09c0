// Puts the npm packages of package-lock.json into node_modules, when they are missing or not the ones it names.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, exitMissing, isMain, run } from './process.mjs';

const INSTALL_TIMEOUT_S = 900;

/** Resolves to undefined when the packages are there, else to the reason why not and what to do. */
export async function installNpm() {
  if (isUpToDate()) return undefined;
  console.log('Installing the npm packages (npm ci) …');
  const { code, timedOut } = await run('npm', ['ci'], { timeoutS: INSTALL_TIMEOUT_S });
  if (code === 0) return undefined;
  if (code === 127) return 'npm is not on PATH. Install it (it comes with Node), then run the command again.';
  return `npm ci ${timedOut ? `did not end within ${INSTALL_TIMEOUT_S} s` : `failed with exit code ${code}`}; its output above says why. Where the npm registry could not be reached, mend that and run the command again.`;
}

/** npm leaves what it has installed in node_modules/.package-lock.json; packages for other systems are not in it. */
function isUpToDate() {
  const wanted = packagesOf(join(ROOT, 'package-lock.json'));
  const installed = packagesOf(join(ROOT, 'node_modules', '.package-lock.json'));
  if (wanted === undefined || installed === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const there = installed[path];
    if (there === undefined) return entry.optional === true;
    // Entries for systems that the lock file was not made on may have no integrity.
    return there.version === entry.version && (entry.integrity === undefined || there.integrity === entry.integrity);
  });
}

function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

if (isMain(import.meta.url)) {
  const missing = await installNpm();
  if (missing !== undefined) exitMissing(missing);
}

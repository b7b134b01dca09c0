/** Finds Prometheus for the tests, or unpacks or installs its package. The tests start it themselves. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const PACKAGES = { 'apt-get': 'prometheus', apk: 'prometheus', dnf: 'prometheus', brew: 'prometheus' };

export function installPrometheus() {
  return install('prometheus', 'WEIR_PROMETHEUS');
}

/** promtool is in the package of Prometheus. */
export function installPromtool() {
  return install('promtool', 'WEIR_PROMTOOL');
}

/**
 * @param {string} program
 * @param {string} variable
 */
function install(program, variable) {
  const unpacked = { folder: 'prometheus', binary: `usr/bin/${program}` };
  return installSystemProgram({ program, variable, packages: PACKAGES, service: 'prometheus.service', unpacked });
}

await installIfMain(import.meta.url, installPrometheus);

/** Finds Prometheus for the tests, or installs it with the package manager of the system. The tests start it themselves. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../tool.mjs';

const PACKAGES = { 'apt-get': 'prometheus', apk: 'prometheus', dnf: 'prometheus', brew: 'prometheus' };

export function installPrometheus() {
  return installSystemProgram({ program: 'prometheus', variable: 'WEIR_PROMETHEUS', packages: PACKAGES, service: 'prometheus.service' });
}

/** promtool is in the package of Prometheus. */
export function installPromtool() {
  return installSystemProgram({ program: 'promtool', variable: 'WEIR_PROMTOOL', packages: PACKAGES, service: 'prometheus.service' });
}

await installIfMain(import.meta.url, installPrometheus);

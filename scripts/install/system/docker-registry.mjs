/** Finds a registry of images and charts for the test of a release, or unpacks or installs its package. */
import { installSystemProgram } from './system-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

export function installDockerRegistry() {
  return installSystemProgram({
    program: 'docker-registry',
    variable: 'WEIR_DOCKER_REGISTRY',
    packages: { 'apt-get': 'docker-registry', apk: 'docker-registry', dnf: 'docker-distribution', brew: 'docker-registry' },
    unpacked: { binary: 'usr/bin/docker-registry' },
    service: 'docker-registry',
  });
}

await installIfMain(import.meta.url, installDockerRegistry);

/** The environment of a run of `npm test`: a list of what may be in it, so that other variables of a machine change no result. */

/** Whole names. Those of package clients and certificates are for the tools that are installed, also by tests. */
const NAMES = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'LANG', 'LC_ALL', 'TERM', 'CI', 'FORCE_COLOR', 'NO_COLOR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  ...['JAVA_HOME', 'M2_HOME', 'XDG_CACHE_HOME', 'VIRTUAL_ENV'],
  ...['CGO_ENABLED', 'CC'],
]);

/** What names begin with: the settings of these scripts and tests, and those of npm, pip, pyenv, Go and Maven. */
const PREFIXES = ['WEIR_', 'npm_config_', 'NPM_CONFIG_', 'PIP_', 'PYENV_', 'GO', 'MAVEN_'];

/** As curl names them, in small letters and in capitals. */
const PROXIES = /^(?:http|https|all|no)_proxy$/i;

/** gRPC and npm would ask a proxy for the servers of the tests, too. */
const LOOPBACK = '127.0.0.1,::1,localhost';

/**
 * Removes from `env` what is not on the list. With a proxy, the servers that tests start are asked without it.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export function cleanEnvironment(env) {
  for (const name of Object.keys(env)) if (!isAllowed(name)) Reflect.deleteProperty(env, name);
  const proxies = Object.keys(env).filter((name) => PROXIES.test(name));
  if (proxies.length === 0) return;
  const others = env.no_proxy ?? env.NO_PROXY;
  const direct = others === undefined || others === '' ? LOOPBACK : `${others},${LOOPBACK}`;
  env.no_proxy = direct;
  env.NO_PROXY = direct;
}

/** @param {string} name */
function isAllowed(name) {
  return NAMES.has(name) || PROXIES.test(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** The page of settings lists exactly the settings of the code. */

import fs from 'node:fs';
import path from 'node:path';
import { renderSettingsDoc } from '../../../scripts/generate/docs/settings-doc';
import { SETTINGS_TABLE } from '../../../src/configuration/settings/table/settings-table';

const REGENERATE = 'node scripts/generate/docs.mjs';

const NAMES: readonly string[] = Object.values(SETTINGS_TABLE).map(({ name }) => name);

function sourceFiles(): string[] {
  return fs.readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
}

/** `REDIS_OP_TIMEOUT` as `redisOpTimeout`. */
function toCamelCase(name: string): string {
  return name.toLowerCase().replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Variables of OpenSSL, Node and grpc-js. */
const OF_OTHERS = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH'];

describe('Settings', () => {
  test('docs/settings.md equals the output of the table', () => {
    const written = fs.readFileSync('docs/settings.md', 'utf8');
    if (written !== renderSettingsDoc()) throw new Error(`docs/settings.md is out of date; run ${REGENERATE}`);
  });

  test('each setting has a name, and a property that follows from the name', () => {
    expect(new Set(NAMES).size).toBe(NAMES.length);
    for (const [property, { name, type }] of Object.entries(SETTINGS_TABLE)) {
      const unit = type.accepts.startsWith('a duration') ? 'Ms' : '';
      expect(property).toBe(toCamelCase(name) + unit);
    }
  });

  test('the code reads only environment variables of the table', () => {
    const read = sourceFiles().flatMap((name) => {
      const text = fs.readFileSync(path.join('src', name), 'utf8');
      return Array.from(text.matchAll(/\benv(?:\.|\[['"`])([A-Z][A-Z0-9_]*)/g), ([, variable]) => ({ name, variable }));
    });
    // Where the commands of the admin API find it; the server does not read them.
    const OF_COMMANDS = ['WEIR_ADMIN_URL', 'WEIR_ADMIN_TOKEN_FILE', 'WEIR_ADMIN_CA_FILE'];
    const known = [...NAMES, ...OF_OTHERS, ...OF_COMMANDS];
    expect(read.filter(({ variable }) => !known.includes(variable!))).toEqual([]);
    const cli = fs.readFileSync('docs/cli.md', 'utf8');
    for (const variable of OF_COMMANDS) expect(cli).toContain(`\`${variable}\``);
    const page = fs.readFileSync('docs/settings.md', 'utf8');
    for (const variable of OF_OTHERS) expect(page).toContain(`\`${variable}\``);
  });
});

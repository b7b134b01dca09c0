/** The files with the credentials of the admin API: tokens, and the public keys that verify JWTs. */

import type { AdminChoice } from '../../../configuration/settings/admin-choice';
import { SettingsError, type SettingProblem } from '../../../configuration/settings/table/settings-error';
import { parseJwks } from './jwt-verifier';
import { TokenList } from './token-list';
import { WatchedFile, type WatchedFileOptions } from './watched-file';

export type CredentialFilesChoice = Pick<AdminChoice, 'tokensFile' | 'jwt'>;
export type CredentialFilesEvents = Pick<WatchedFileOptions<unknown>, 'onChange' | 'onProblem'>;

/** Undefined: no setting names the file. Throws SettingsError if the file is unusable. */
export function readTokens({ tokensFile: path }: CredentialFilesChoice, events: CredentialFilesEvents): WatchedFile<TokenList> | undefined {
  if (path === undefined) return undefined;
  return new WatchedFile({ setting: 'ADMIN_TOKENS_FILE', path, parse: (text) => TokenList.read(text), ...events });
}

/** Undefined: no setting names the file. Throws SettingsError if the file is unusable. */
export function readKeys(
  { jwt }: CredentialFilesChoice,
  events: CredentialFilesEvents,
): WatchedFile<ReturnType<typeof parseJwks>> | undefined {
  return jwt && new WatchedFile({ setting: 'ADMIN_JWT_JWKS_FILE', path: jwt.jwksFile, parse: parseJwks, ...events });
}

const NO_EVENTS: CredentialFilesEvents = { onChange: () => undefined, onProblem: () => undefined };

/** One problem for each file that is unusable. */
export function problemsOfCredentials(choice: CredentialFilesChoice): readonly SettingProblem[] {
  return [readTokens, readKeys].flatMap((read) => {
    try {
      read(choice, NO_EVENTS);
      return [];
    } catch (error) {
      if (error instanceof SettingsError) return error.problems;
      throw error;
    }
  });
}

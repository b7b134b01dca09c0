/** The error of a control file. It has a file of its own: every command knows it, and only a server reads the file. */

import { UnavailableError } from '../../../lib/errors';

/** The file could not be read or written. Nothing has changed. */
export class ControlFileError extends UnavailableError {
  override readonly name = 'ControlFileError';
}

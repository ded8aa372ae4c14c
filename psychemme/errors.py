"""Every error the project raises on purpose.

PsychemmeError
├── UserError               the user can fix it: no traceback, exit code 1
│   ├── ConfigError         a setting, plan or knowledge base file is wrong
│   ├── MediaError          a clip cannot be processed; names the reason and the next action
│   ├── WorkspaceError      the workspace is missing, locked, or of another version
│   │   └── DatabaseAway    its database server does not answer, or no longer
│   ├── RunError            a run cannot start, resume or be told apart
│   ├── ReleaseError        a release is altered, incomplete or of another version
│   ├── ReviewError         a reviewer or curator asks for what the rules of review forbid
│   │   ├── NotAssigned     the item is not one of the reviewer's
│   │   ├── ItemClosed      the item takes no more votes
│   │   └── AnswerFirst     a verdict needs the reviewer's own committed answer
│   └── EndpointError       the endpoint refuses us for good (key, model name, address)
├── ReplyError              one model reply is unusable: the candidate fails, the run goes on
└── Stopped                 a budget or signal ended the run with work left: exit code 3
"""


class PsychemmeError(Exception):
    """Base of all errors below."""


class UserError(PsychemmeError):
    """A fault the user can fix.

    The message names the value, the rule it breaks and the next action.
    """

    def __init__(self, problem: str, action: str) -> None:
        super().__init__(f"{problem} {action}")
        self.problem = problem
        self.action = action


class ConfigError(UserError):
    """A setting, plan or knowledge base file breaks its schema."""


class MediaError(UserError):
    """A clip cannot be processed; `problem` is stored as the clip's reason."""


class WorkspaceError(UserError):
    """The workspace is missing, in use, or was made by another version."""


class DatabaseAway(WorkspaceError):
    """The server of the Shared State does not answer; it may be back in a moment."""


class RunError(UserError):
    """A run cannot be started or resumed as asked."""


class ReleaseError(UserError):
    """A release is altered, incomplete, inconsistent or of a version this cannot read."""


class ReviewError(UserError):
    """A reviewer or curator asks for what the rules of review forbid."""


class NotAssigned(ReviewError):
    """The item is not one of the reviewer's; whether it exists is not told."""


class VotedMeanwhile(ReviewError):
    """The reviewer voted on the item since the page was made that this vote comes from."""


class ItemClosed(ReviewError):
    """The item takes no more votes."""


class AnswerFirst(ReviewError):
    """A verdict needs the reviewer's own committed answer."""


class EndpointError(UserError):
    """A model endpoint refuses every request (authentication, unknown model, no route).

    `status` is the HTTP status, where the endpoint answered with one.
    """

    def __init__(self, problem: str, action: str, status: int | None = None) -> None:
        super().__init__(problem, action)
        self.status = status


class ReplyError(PsychemmeError):
    """A model reply that stays unusable after the bounded repair conversation.

    `code` is from the closed list in `docs/failures.md`; the raw text is kept in the role's
    private call table and is never part of this message.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Stopped(PsychemmeError):
    """Work is left, but a budget or a signal asked the run to stop."""

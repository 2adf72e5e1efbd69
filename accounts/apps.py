from django.apps import AppConfig
from django.db.models.signals import post_delete, post_migrate, post_save


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        """Connect signals; add tokens to the API's description, pages to the menu.

        Groups follow memberships, and the trail records sign-ins.
        """
        from accounts.api_access import schema as api_schema  # noqa: F401  # the scheme is known once its class is defined
        from accounts.membership import groups
        from accounts.models import Membership, Role
        from accounts.registry import NavItem, register_nav_item
        from accounts.requests import converters
        from accounts.second_step import signals as second_step_signals
        from accounts.sign_in import signals

        converters.register_converters()
        post_migrate.connect(groups.create_groups, sender=self, dispatch_uid="accounts.groups")
        for signal in (post_save, post_delete):
            signal.connect(
                groups.on_membership_change, sender=Membership, dispatch_uid="accounts.membership"
            )
        signals.connect()
        second_step_signals.connect()
        admins = frozenset({Role.ADMIN})
        register_nav_item(NavItem("Study", "accounts:study", ("study/",), admins), order=800)
        register_nav_item(
            NavItem("Audit trail", "accounts:audit_trail", ("audit-trail/",), admins), order=900
        )

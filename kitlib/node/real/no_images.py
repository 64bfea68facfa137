"""Images of a real node: there are none, since its own root file system replaces every image."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.kubelet.images.container_gc import DeadContainer
from kitlib.kubelet.images.image_gc import Image


class NoImages:
    """The methods of a runtime without images and dead containers."""

    def dead(self, identity: str = "") -> Sequence[DeadContainer]:
        """Return nothing: a pod has no disk of its own here."""
        return ()

    def remove_dead(self, instance: str) -> None:
        """Do nothing."""

    def images(self) -> Sequence[Image]:
        """Return nothing: the node's own root replaces every image."""
        return ()

    def pull(self, image: str) -> Image | None:
        """Return None: no image is declared."""
        return None

    def remove_image(self, image: str) -> None:
        """Do nothing."""

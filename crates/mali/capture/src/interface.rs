//! The kernel interfaces of Mali GPUs.

use tepui_drm::uapi::{IoctlInfo, Request, core, panfrost, panthor};
use tepui_mali_chips::Chip;

/// The kernel interface that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// `panthor`: command streams.
    Panthor,
    /// `panfrost`: chains of jobs.
    Panfrost,
}

impl Interface {
    /// The interface of a chip.
    pub fn of(chip: &Chip) -> Interface {
        match chip.arch.0 {
            10.. => Interface::Panthor,
            _ => Interface::Panfrost,
        }
    }

    /// The interface of a kernel driver.
    pub fn named(driver: &str) -> Option<Interface> {
        [Interface::Panthor, Interface::Panfrost].into_iter().find(|i| i.driver() == driver)
    }

    /// The kernel driver.
    pub fn driver(self) -> &'static str {
        match self {
            Interface::Panthor => tepui_mali_kernel::DRIVER.name,
            Interface::Panfrost => tepui_mali_kernel::panfrost::DRIVER.name,
        }
    }

    /// The name and fields of a request; `None` for a request that neither the interface nor DRM defines.
    pub fn info(self, request: Request) -> Option<&'static IoctlInfo> {
        if request.family() != Request::DRM {
            return None;
        }
        let own = match self {
            Interface::Panthor => panthor::Ioctl::from_nr(request.nr()).map(panthor::Ioctl::info),
            Interface::Panfrost => {
                panfrost::Ioctl::from_nr(request.nr()).map(panfrost::Ioctl::info)
            }
        };
        own.or_else(|| core::Ioctl::from_nr(request.nr()).map(core::Ioctl::info))
    }
}
